//go:build linux

package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/tlslib"
)

func TestZZ(t *testing.T) {
	o := Options{Nested: true}
	k, err := Load(o)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer k.Close()
	p, err := k.LoadProbes(o)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer p.Close()
	t.Log("multi", p.Multi())
	cmd := exec.Command(os.Getenv("ZZ"), os.Args[len(os.Args)-1])
	cmd = exec.Command("sh", "-c", os.Getenv("ZZ"))
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.Start()
	sc := tlslib.NewScanner("/proc")
	at := map[tlslib.FileID]*Attachment{}
	end := time.Now().Add(6 * time.Second)
	go func() { cmd.Wait() }()
	var c Control
	var d Data
	for time.Now().Before(end) {
		for {
			ok, err := k.Control(&c)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if c.Kind == Code {
				pr, err := sc.Process(int(c.TGID))
				if err != nil {
					t.Log(err)
					continue
				}
				for _, f := range pr.Files {
					if at[f.ID] != nil {
						continue
					}
					for _, im := range f.TLS {
						if im.Reason != "" {
							continue
						}
						var ps []Probe
						for _, q := range im.Points {
							ps = append(ps, Probe{uint8(q.Func), q.Entry, q.Returns})
						}
						fl, err := sc.Open(pr.PID, f)
						if err != nil {
							t.Log(err)
							continue
						}
						var a *Attachment
						if im.Kind == tlslib.Go {
							a, err = p.AttachGo(fl, ps)
						} else {
							a, err = p.AttachC(fl, ps, os.Getenv("ZZRET") != "")
						}
						fl.Close()
						fmt.Println("attach", f.Path, im.Kind, err)
						at[f.ID] = a
					}
				}
				continue
			}
			if c.Kind == Exit {
				continue
			}
			fmt.Printf("ctl kind=%d src=%d cookie=%x tgid=%d ssl=%x gen=%d pos=%v flags=%x toC=%v local=%v\n", c.Kind, c.Source, c.Cookie, c.TGID, c.SSL, c.Generation, c.Pos, c.Flags, c.ToClient, c.Local)
		}
		for {
			ok, err := k.Data(&d)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if d.Source == Plain {
				continue
			}
			fmt.Printf("DATA src=%d cookie=%x tgid=%d ssl=%x gen=%d pos=%d toC=%v %.60q\n", d.Source, d.Cookie, d.TGID, d.SSL, d.Generation, d.Pos, d.ToClient, d.Bytes)
		}
		time.Sleep(2 * time.Millisecond)
	}
	cs, _ := k.Counts()
	fmt.Printf("%+v\n", cs)
	for _, a := range at {
		if a != nil {
			t.Log(a.Close())
		}
	}
}
