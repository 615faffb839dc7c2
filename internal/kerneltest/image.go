package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// test is one test binary, as the guest reads it.
type test struct {
	Name string   `json:"name"` // of the package, below the module
	Args []string `json:"args"`
}

// image is a file system in the making.
type image struct {
	archive
	have map[string]bool
}

// buildImage writes the file system that the kernels start with: the guest's
// init, their modules, the test binaries with their testdata, and programs.
func buildImage(ctx context.Context, work string, kernels []kernel, packages, tools []string, timeout time.Duration) (file string, err error) {
	file = filepath.Join(work, "initramfs")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriter(f)
	zip, err := gzip.NewWriterLevel(buffered, gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	im := &image{archive{w: zip}, make(map[string]bool)}
	if err := im.fill(ctx, work, packages, tools, timeout); err != nil {
		return "", err
	}
	for _, k := range kernels {
		if err := im.tree(k.modules, "modules"); err != nil {
			return "", err
		}
	}
	return file, errors.Join(im.close(), zip.Close(), buffered.Flush())
}

func (im *image) fill(ctx context.Context, work string, packages, tools []string, timeout time.Duration) error {
	init := filepath.Join(work, "init")
	if _, err := output(ctx, "", "go", "build", "-o", init, "github.com/lambdac/lambdac/internal/kerneltest/guest"); err != nil {
		return err
	}
	if err := im.file(init, "init"); err != nil {
		return err
	}
	var tests []test
	for i, p := range packages {
		t, err := im.addPackage(ctx, filepath.Join(work, fmt.Sprintf("test%d", i)), p)
		if err != nil {
			return err
		}
		t.Args = append(t.Args, "-test.v", "-test.timeout="+(timeout*9/10).String()) // they say where they hang
		tests = append(tests, t)
	}
	list, err := json.Marshal(tests)
	if err != nil {
		return err
	}
	im.put("tests.json", modeFile|0o644, list)
	im.put("etc/hosts", modeFile|0o644, []byte("127.0.0.1 localhost\n::1 localhost\n"))
	im.put("etc/passwd", modeFile|0o644, []byte("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"))
	for _, dir := range []string{"proc", "sys", "dev", "tmp", "run", "root"} {
		im.put(dir, modeDir|0o755, nil)
	}
	for _, tool := range tools {
		if err := im.addTool(tool); err != nil {
			return err
		}
	}
	return nil
}

// addPackage compiles the tests of a package, which may have a pattern of
// tests behind a colon, and adds them with their data.
func (im *image) addPackage(ctx context.Context, binary, spec string) (t test, err error) {
	name, pattern, _ := strings.Cut(spec, ":")
	listed, err := output(ctx, "", "go", "list", "-f", "{{.ImportPath}}\n{{.Dir}}\n{{.Module.Path}}", name)
	if err != nil {
		return t, err
	}
	where := strings.Split(strings.TrimSpace(string(listed)), "\n")
	if len(where) != 3 {
		return t, fmt.Errorf("%q is not one package", name)
	}
	t.Name = strings.TrimPrefix(where[0], where[2]+"/")
	if pattern != "" {
		t.Args = append(t.Args, "-test.run="+pattern)
	}
	if _, err := output(ctx, "", "go", "test", "-c", "-o", binary, name); err != nil {
		return t, err
	}
	if err := im.file(binary, path.Join("src", t.Name, "test")); err != nil {
		return t, err
	}
	return t, im.tree(filepath.Join(where[1], "testdata"), path.Join("src", t.Name, "testdata"))
}

// tree adds the files of a folder, if there is one, under another name.
func (im *image) tree(from, to string) error {
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == from:
			return nil
		case err != nil || !d.Type().IsRegular():
			return err
		}
		inside, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		return im.file(at, path.Join(to, filepath.ToSlash(inside)))
	})
}

// addTool adds a program of this machine with the libraries that it is linked
// to, where they are here too, so that tests find it by its name.
func (im *image) addTool(name string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find program: %w", err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return err
	}
	if err := im.file(program, path.Join("bin", name)); err != nil {
		return err
	}
	linked, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil // it is linked statically
	}
	for field := range strings.FieldsSeq(string(linked)) {
		if strings.HasPrefix(field, "/") {
			if err := im.file(field, field); err != nil {
				return err
			}
		}
	}
	return nil
}

// file adds a file of this machine under another name.
func (im *image) file(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	im.put(to, modeFile|uint32(info.Mode().Perm()), data)
	return im.err
}

// put adds a file once, after the folders above it.
func (im *image) put(name string, mode uint32, data []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if im.have[name] {
		return
	}
	if dir := path.Dir(name); dir != "." && !im.have[dir] {
		im.put(dir, modeDir|0o755, nil)
	}
	im.have[name] = true
	im.add(name, mode, data)
}
