package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/lambdac/lambdac/datasets"
)

func newDatasets() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "datasets [NAME -o DIR]",
		Short: "Small example traces and runs that come with the program",
		Long: `List the datasets that come with the program, or unpack one. They are made from
the simulated server, in virtual time; notebooks/ reads them.`,
		Example: "  lambdac datasets\n  lambdac datasets saturated -o runs/saturated",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listDatasets(c, asJSON)
			}
			return unpackDataset(c, args[0], out)
		},
	}
	f := c.Flags()
	f.StringVarP(&out, "out", "o", "", "directory to make")
	f.BoolVar(&asJSON, "json", false, "print the list as JSON")
	return c
}

func listDatasets(c *cobra.Command, asJSON bool) error {
	list, err := datasets.List()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(c.OutOrStdout(), list)
	}
	for _, d := range list {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s\n  %s\n", d.Name, d.About); err != nil {
			return err
		}
	}
	return nil
}

func unpackDataset(c *cobra.Command, name, out string) error {
	if out == "" {
		return usage("see lambdac datasets --help", "-o is needed")
	}
	err := datasets.Unpack(name, out)
	if errors.Is(err, fs.ErrNotExist) {
		return usage("lambdac datasets lists them", "%w", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: unpacked\n", out)
	return err
}
