// The modules, and the only place that joins the lists of the core with theirs. Every process loads this file, so it
// contains no pages. site-modules.ts joins the pages and calls.

import type { ChangeModules, Pricing } from "#core/conversions/change-module.ts";
import { withAdditions } from "#core/domain/addition.ts";
import { CORE_RULES, type LedgerRule } from "#core/store/queries/ledger.ts";
import { CORE_PRUNE_RULES, type PruneRule } from "#core/store/queries/prune.ts";
import { ACCOUNTS } from "#modules/accounts/module.ts";
import { FEEDS } from "#modules/feeds/module.ts";
import { JOBS } from "#modules/jobs/module.ts";
import { PARTNERS } from "#modules/partners/module.ts";
import { PERSONAL_DATA } from "#modules/personal-data/module.ts";
import { REFUNDS } from "#modules/refunds/module.ts";
import { TOKEN_API } from "#modules/token-api/module.ts";
import type { Module } from "./module.ts";
import type { ModuleChore } from "./watch/chores.ts";

/** All modules. A module may import only the modules before it in this list. */
export const MODULES: readonly Module[] = [
	REFUNDS,
	PARTNERS,
	ACCOUNTS,
	JOBS,
	TOKEN_API,
	PERSONAL_DATA,
	FEEDS,
];

export const CHANGES: ChangeModules = {
	modules: MODULES.flatMap(({ changes = [] }) => changes),
	pricing: findPricing(),
};

function findPricing(): Pricing {
	const [pricing, other] = MODULES.flatMap(({ pricing = [] }) => pricing);
	if (pricing === undefined || other !== undefined) throw new Error("exactly one module prices sales");
	return pricing;
}

/** The rules of `ringback verify`, in the order in which it checks and reports them. */
export const LEDGER_RULES: readonly LedgerRule[] = withAdditions(
	CORE_RULES,
	MODULES.flatMap(({ checks = [] }) => checks),
	({ problem }) => problem,
);

/** Chores of the modules. The chores of the core are in watch/chores.ts. */
export const MODULE_CHORES: readonly ModuleChore[] = MODULES.flatMap(({ chores = [] }) => chores);

export const PRUNE_RULES: readonly PruneRule[] = withAdditions(
	CORE_PRUNE_RULES,
	MODULES.flatMap(({ pruneRules = [] }) => pruneRules),
	({ name }) => name,
);
