import { after } from "#core/domain/addition.ts";
import type { Module } from "../../module.ts";
import { MONEY_RULES } from "./store/money-rules.ts";
import { LEDGER } from "./use-cases/ledger-changes.ts";

export const ACCOUNTS: Module = {
	name: "accounts",
	changes: LEDGER,
	checks: [after("receivers have a Postback URL that is not on record", ...MONEY_RULES)],
};
