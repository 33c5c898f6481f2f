// Interface by which a module adds to the work of every process. A module is a capability beyond the contract, such
// as partners or statements. Its pages and calls, which a worker does not load, are added by site-module.ts.

import type { ChangeModule, Pricing } from "#core/conversions/change-module.ts";
import type { Addition } from "#core/domain/addition.ts";
import type { LedgerRule } from "#core/store/queries/ledger.ts";
import type { PruneRule } from "#core/store/queries/prune.ts";
import type { ModuleChore } from "./watch/chores.ts";

export interface Module {
	name: string;
	/** The module's part in changes of conversions: what it must know before, and what follows from a move. */
	changes?: ChangeModule;
	/** Decides the amounts of sales. Exactly one module must have it. */
	pricing?: Pricing;
	checks?: readonly Addition<LedgerRule>[];
	pruneRules?: readonly Addition<PruneRule>[];
	chores?: readonly ModuleChore[];
}
