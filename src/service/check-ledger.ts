import { LEDGER_RULES } from "../modules.ts";
import { checkRules, type LedgerReport } from "../store/queries/ledger.ts";
import type { Store } from "../store/store.ts";

/** Checks the rules of the core and of all modules. */
export function checkLedger(store: Pick<Store, "db">): Promise<LedgerReport> {
	return checkRules(store, LEDGER_RULES);
}
