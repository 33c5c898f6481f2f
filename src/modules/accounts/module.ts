import { after } from "../../domain/addition.ts";
import type { Module } from "../../module.ts";
import { eraseOldStatements } from "../../privacy/statement-texts.ts";
import { LEDGER } from "../../statements/ledger-changes.ts";
import { MONEY_RULES } from "../../store/queries/money-rules.ts";

export const ACCOUNTS: Module = {
	name: "accounts",
	changes: LEDGER,
	checks: [after("receivers have a Postback URL that is not on record", ...MONEY_RULES)],
	pruneRules: [
		after("expired conversions", {
			name: "parties of old statements",
			prune: ({ statementYears, isStopping, ...deps }) =>
				eraseOldStatements(deps, statementYears, isStopping),
		}),
	],
};
