import { after } from "../../domain/addition.ts";
import { createJobWork } from "../../jobs/work.ts";
import type { Module } from "../../module.ts";
import { pruneJobs } from "../../store/queries/jobs.ts";

export const JOBS: Module = {
	name: "jobs",
	pruneRules: [
		after("notices", { name: "jobs", prune: ({ store, olderThanMs }) => pruneJobs(store, olderThanMs) }),
	],
	chores: [{ name: "jobs", runsIn: "every process", prepare: createJobWork }],
};
