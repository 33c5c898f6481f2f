import { after } from "#core/domain/addition.ts";
import type { Module } from "../../module.ts";
import { workOffErasures } from "./use-cases/erasure-work.ts";
import { eraseOldStatements } from "./use-cases/statement-texts.ts";

export const PERSONAL_DATA: Module = {
	name: "personal-data",
	pruneRules: [
		after("expired conversions", {
			name: "parties of old statements",
			prune: ({ statementYears, isStopping, ...deps }) =>
				eraseOldStatements(deps, statementYears, isStopping),
		}),
	],
	chores: [
		{
			name: "erasures",
			runsIn: "delivery",
			prepare: (deps) => (isStopping) => workOffErasures(deps, isStopping),
		},
	],
};
