import { after } from "#core/domain/addition.ts";
import type { Module } from "../../module.ts";
import { pruneJobs } from "./store/jobs.ts";
import { createJobWork } from "./use-cases/work.ts";

export const JOBS: Module = {
	name: "jobs",
	pruneRules: [
		after("notices", { name: "jobs", prune: ({ store, olderThanMs }) => pruneJobs(store, olderThanMs) }),
	],
	chores: [{ name: "jobs", runsIn: "every process", prepare: createJobWork }],
};
