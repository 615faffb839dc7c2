package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// suites say which release of Debian has which kernel.
var suites = map[string]string{"6.1": "bookworm", "6.12": "trixie"}

// wanted are the modules that tests need, each behind those that it needs: TLS
// in the kernel and its cipher. What a kernel has built in is not among its own.
var wanted = []string{"libgf128mul", "gf128mul", "ghash-generic", "crypto_null", "ctr", "gcm", "tls"}

// kernel is a kernel on this machine. modules is a folder that has, in one named
// like its release, those that are wanted, in the order in which they load.
type kernel struct{ version, path, modules string }

// fetchKernel returns the kernel of a version. It is downloaded once, by
// Debian's client from where this machine has its packages, and unpacked
// beside: nothing is installed.
func fetchKernel(ctx context.Context, cache, version string) (k kernel, err error) {
	suite, known := suites[version]
	if !known {
		return k, fmt.Errorf("kernel %q: only 6.1 and 6.12 are known", version)
	}
	dir, err := filepath.Abs(filepath.Join(cache, version))
	if err != nil {
		return k, err
	}
	if k, err = unpacked(dir, version); err == nil {
		return k, nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "lists", "partial"), 0o755); err != nil {
		return k, err
	}
	if err := download(ctx, dir, suite); err != nil {
		return k, fmt.Errorf("fetch kernel %s of %s: %w", version, suite, err)
	}
	return unpacked(dir, version)
}

func unpacked(dir, version string) (kernel, error) {
	k := kernel{version: version, modules: filepath.Join(dir, "root", "modules")}
	found, err := filepath.Glob(filepath.Join(dir, "root", "boot", "vmlinuz-*"))
	if err == nil {
		_, err = os.Stat(k.modules)
	}
	if err != nil || len(found) == 0 {
		return k, fmt.Errorf("no kernel in %q", dir)
	}
	k.path = found[0]
	return k, nil
}

// download fetches the newest kernel of a suite with lists of its own, so that
// this machine's stay as they are, and unpacks it.
func download(ctx context.Context, dir, suite string) error {
	mirror, err := mirrorOf(ctx)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "sources.list")
	line := fmt.Sprintf("deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", mirror, suite)
	if err := os.WriteFile(list, []byte(line), 0o644); err != nil {
		return err
	}
	apt := func(program string, args ...string) ([]byte, error) {
		own := []string{
			"-q", "-o", "Dir::Etc::SourceList=" + list, "-o", "Dir::Etc::SourceParts=-",
			"-o", "Dir::State::Lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
			"-o", "Acquire::Languages=none", "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
			"-o", "APT::Sandbox::User=", "-o", "APT::Architecture=amd64",
		}
		return output(ctx, dir, program, append(own, args...)...)
	}
	if _, err := apt("apt-get", "update"); err != nil {
		return err
	}
	depends, err := apt("apt-cache", "depends", "linux-image-cloud-amd64")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(depends), "Depends: ")
	name, _, _ := strings.Cut(after, "\n")
	if name == "" {
		return errors.New("the suite has no kernel for clouds")
	}
	if _, err := apt("apt-get", "download", name); err != nil {
		return err
	}
	return unpack(ctx, dir)
}

func unpack(ctx context.Context, dir string) error {
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("%d packages in %q, want 1", len(packages), dir)
	}
	whole := filepath.Join(dir, "whole")
	if _, err := output(ctx, dir, "dpkg-deb", "-x", packages[0], whole); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	if err := errors.Join(os.RemoveAll(root), os.MkdirAll(root, 0o755)); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(whole, "boot"), filepath.Join(root, "boot")); err != nil {
		return err
	}
	if err := takeModules(ctx, whole, filepath.Join(root, "modules")); err != nil {
		return err
	}
	var leftovers error
	for _, name := range []string{whole, packages[0], filepath.Join(dir, "lists"), filepath.Join(dir, "cache")} {
		leftovers = errors.Join(leftovers, os.RemoveAll(name))
	}
	return leftovers
}

// takeModules moves the wanted modules of an unpacked kernel to a folder.
func takeModules(ctx context.Context, whole, to string) error {
	for i, name := range wanted {
		var found []string
		err := filepath.WalkDir(whole, func(at string, _ fs.DirEntry, err error) error {
			if base := filepath.Base(at); base == name+".ko" || base == name+".ko.xz" {
				found = append(found, at)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, file := range found {
			if strings.HasSuffix(file, ".xz") {
				if _, err := output(ctx, whole, "xz", "--decompress", file); err != nil {
					return err
				}
				file = strings.TrimSuffix(file, ".xz")
			}
			_, below, _ := strings.Cut(file, "/lib/modules/")
			release, _, _ := strings.Cut(below, "/")
			at := filepath.Join(to, release, fmt.Sprintf("%d-%s.ko", i, name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Rename(file, at)); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(to, 0o755) // which says that it was looked for
}

// mirrorOf is where this machine has Debian's packages from.
func mirrorOf(ctx context.Context) (string, error) {
	targets, err := output(ctx, "", "apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(targets)) {
		if mirror, ok := strings.CutPrefix(strings.TrimSpace(line), "Debian "); ok && !strings.Contains(mirror, "security") {
			return mirror, nil
		}
	}
	return "", errors.New("no list of Debian's packages here: apt-get update")
}
