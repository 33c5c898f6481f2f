import { tellSales } from "../../mail/sale-news.ts";
import type { Module } from "../../module.ts";
import { CREDIT_CHANGES } from "../../partners/credit-changes.ts";
import { CREDIT_PRICING } from "../../partners/credit-pricing.ts";
import { PARTNER_PRUNE_RULES } from "../../store/queries/partner-prune.ts";
import { PARTNER_RULES } from "../../store/queries/partner-rules.ts";

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
