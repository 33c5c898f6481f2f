import { after } from "#core/domain/addition.ts";
import { pruneInBatches, pruneLog } from "#core/store/queries/prune.ts";
import type { Module } from "../../module.ts";

export const FEEDS: Module = {
	name: "feeds",
	pruneRules: [
		after(
			"inbound calls",
			pruneInBatches("local answers", (...pruning) => pruneLog("local_answers", ...pruning)),
		),
	],
};
