package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/replayer"
	"github.com/lambdac/lambdac/trace"
	"github.com/lambdac/lambdac/trace/tracedir"
)

func newMerge() *cobra.Command {
	var o replayFlags
	c := &cobra.Command{
		Use:   "merge RUN… -o RUN",
		Short: "Join the runs of all shards of a replay",
		Long: `Join the runs that replay --shard 1/N … N/N wrote into one run, counted anew
from the records. A missing shard, or one that started late or was killed, makes
the merged run invalid.`,
		Example: `  lambdac merge runs/shard-1 runs/shard-2 runs/shard-3 -o runs/tuesday`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("see lambdac merge --help", "name the run directories of all shards")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return merge(c, args, &o) },
	}
	f := c.Flags()
	f.StringVarP(&o.out, "out", "o", "", "run directory to make")
	f.BoolVar(&o.force, "force", false, "replace an existing run directory")
	f.BoolVar(&o.asJSON, "json", false, "print the levels and the verdict as one JSON document")
	return c
}

func merge(c *cobra.Command, paths []string, o *replayFlags) error {
	if o.out == "" {
		return usage("see lambdac merge --help", "-o is needed")
	}
	var parts []replayer.Part
	var dirs []*tracedir.Dir
	for _, path := range paths {
		dir, err := tracedir.Open(path)
		if err != nil {
			return err
		}
		levels, err := dir.Levels()
		if err != nil {
			return err
		}
		marks, err := dir.Marks()
		if err != nil {
			return err
		}
		dirs = append(dirs, dir)
		parts = append(parts, replayer.Part{
			Name: path, Manifest: dir.Manifest(), Levels: levels, Marks: marks, Rows: tracedir.Rows[trace.Record](dir),
		})
	}
	if err := replayer.CheckParts(parts); err != nil {
		return replayError(err, o.out)
	}
	m := newManifest(trace.OriginReplay, parts[0].Manifest.Seal)
	w, err := tracedir.Create(o.out, m, tracedir.Options{Force: o.force})
	if err != nil {
		return err
	}
	result, err := replayer.Merge(parts, w)
	if err == nil {
		err = mergeSamples(dirs, w)
	}
	if err := cmp.Or(err, w.Close()); err != nil {
		return replayError(err, o.out)
	}
	return showRun(c, newUI(c), o, nil, result)
}
