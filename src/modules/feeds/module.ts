import { after } from "../../domain/addition.ts";
import type { Module } from "../../module.ts";
import { pruneInBatches, pruneLog } from "../../store/queries/prune.ts";

export const FEEDS: Module = {
	name: "feeds",
	pruneRules: [
		after(
			"inbound calls",
			pruneInBatches("local answers", (...pruning) => pruneLog("local_answers", ...pruning)),
		),
	],
};
