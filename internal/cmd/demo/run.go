package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// demo runs everything and writes the summary, also of a run that fails.
func demo(ctx context.Context, out io.Writer) (err error) {
	opts, err := readOptions(os.Getenv)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := refuseKept(ctx, filepath.Join(root, ".demo", "summary.json")); err != nil {
		return err
	}
	r := &run{options: opts, root: root, out: out, dir: filepath.Join(root, ".demo", opts.lab+"-"+opts.engine)}
	r.summary = summary{Lab: opts.lab, Engine: opts.engine, Scenario: opts.scenario}
	defer func() {
		if stopErr := r.stop(err == nil && opts.keep); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		if err != nil {
			r.summary.Error = err.Error()
		}
		err = errors.Join(err, r.summary.write(filepath.Join(root, ".demo", "summary.json")))
	}()
	return r.all(ctx)
}

// run is one demo on its way.
type run struct {
	options
	root, dir string // the repository; what this demo writes
	out       io.Writer
	summary   summary
	simulator *simulator
	terraform *terraform
}

func (r *run) all(ctx context.Context) error {
	programs, err := r.build(ctx)
	if err != nil {
		return err
	}
	if r.simulator, err = startSimulator(ctx, programs, r.options, r.dir); err != nil {
		return err
	}
	r.say("Simulator runs %s (engine %s), control door %s", r.scenario, r.engine, r.simulator.ready.Control)
	if r.terraform, err = prepareTerraform(ctx, r.root, r.dir, programs, r.lab, r.simulator.ready); err != nil {
		return err
	}
	before, err := r.simulator.get(ctx, "/state")
	if err != nil {
		return err
	}
	devices, err := devicesOf(before)
	if err != nil {
		return err
	}
	if err := r.apply(ctx, devices); err != nil {
		return err
	}
	if r.keep {
		return r.kept()
	}
	if err := r.destroy(ctx, devices); err != nil {
		return err
	}
	if err := r.compare(ctx, before); err != nil {
		return err
	}
	r.say("\nAll held: second plan empty, every guest ready, lab restored. Summary in .demo/summary.json.")
	return nil
}

// apply brings the lab up, plans again and asks for the readiness of the guests.
func (r *run) apply(ctx context.Context, devices devices) error {
	changes, err := r.terraform.plan(ctx)
	if err != nil {
		return err
	}
	r.summary.Resources = count(changes, "create")
	r.say("\nPlan of lab %s: %d resources", r.lab, r.summary.Resources)
	printChanges(r.out, changes)
	if r.summary.Restarts.Apply, err = r.timed(ctx, "apply", devices, r.terraform.apply); err != nil {
		return err
	}
	if r.summary.SecondPlan, err = r.terraform.secondPlan(ctx); err != nil {
		return err
	}
	r.say("Second plan: %s", r.summary.SecondPlan)
	if r.summary.SecondPlan != noChanges {
		return errors.New("the second plan is not empty: the provider did not reach or does not recognise what was asked for")
	}
	if r.summary.Readiness, err = r.terraform.readiness(ctx); err != nil {
		return err
	}
	r.say("\nReadiness of the guests")
	printReadiness(r.out, r.summary.Readiness)
	if err := r.metrics(ctx); err != nil {
		return err
	}
	return allReady(r.summary.Readiness)
}

func (r *run) destroy(ctx context.Context, devices devices) error {
	changes, err := r.terraform.planDestroy(ctx)
	if err != nil {
		return err
	}
	r.say("\nPlan to destroy it: %d resources", count(changes, "delete"))
	printChanges(r.out, changes)
	if r.summary.Restarts.Destroy, err = r.timed(ctx, "destroy", devices, r.terraform.apply); err != nil {
		return err
	}
	return r.metrics(ctx)
}

// compare demands that the lab is as it was, to the byte.
func (r *run) compare(ctx context.Context, before []byte) error {
	after, err := r.simulator.get(ctx, "/state")
	if err != nil {
		return err
	}
	restored := bytes.Equal(before, after)
	r.summary.Restored = &restored
	if restored {
		r.say("Lab after destroy: as it was")
		return nil
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(r.dir, "state-before.json"), before, 0o600),
		os.WriteFile(filepath.Join(r.dir, "state-after.json"), after, 0o600))
	return errors.Join(fmt.Errorf("the lab is not as it was: %s (diff -u %s/state-before.json %s/state-after.json)",
		firstDifference(before, after), r.dir, r.dir), err)
}

// timed runs a step and prints how long it took and what it restarted.
func (r *run) timed(ctx context.Context, name string, devices devices, step func(context.Context) error) (*restarts, error) {
	from, err := r.simulator.journal(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := step(ctx); err != nil {
		return nil, err
	}
	took := time.Since(start).Round(100 * time.Millisecond)
	journal, err := r.simulator.journal(ctx)
	if err != nil {
		return nil, err
	}
	if len(journal) < len(from) {
		return nil, errors.New("the simulator's journal has lost entries")
	}
	counted, targets := countRestarts(journal[len(from):], devices)
	r.say("\nRestarts during %s (%s)", name, took)
	printRestarts(r.out, counted)
	if r.scenario != presets()[r.lab] { // another scenario may need recovery
		return &counted, nil
	}
	return &counted, targets.tooMany(name)
}

func (r *run) metrics(ctx context.Context) error {
	m, err := r.simulator.metrics(ctx)
	if err != nil {
		return err
	}
	r.summary.HTTPRequests, r.summary.PowerShellProcesses = m.Requests, m.Processes
	return nil
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }
