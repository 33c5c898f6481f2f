import type { Module } from "../../module.ts";
import { tellSales } from "./mail/sale-news.ts";
import { PARTNER_PRUNE_RULES } from "./store/partner-prune.ts";
import { PARTNER_RULES } from "./store/partner-rules.ts";
import { CREDIT_CHANGES } from "./use-cases/credit-changes.ts";
import { CREDIT_PRICING } from "./use-cases/credit-pricing.ts";

export const PARTNERS: Module = {
	name: "partners",
	changes: CREDIT_CHANGES,
	pricing: CREDIT_PRICING,
	checks: PARTNER_RULES,
	pruneRules: PARTNER_PRUNE_RULES,
	chores: [
		{
			name: "sale_mails",
			runsIn: "delivery",
			needsMail: true,
			prepare: (deps) => (isStopping) => tellSales(deps, isStopping),
		},
	],
};
