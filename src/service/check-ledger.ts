import { checkRules, type LedgerReport } from "#core/store/queries/ledger.ts";
import type { Store } from "#core/store/store.ts";
import { LEDGER_RULES } from "../modules.ts";

export function checkLedger(store: Pick<Store, "db">): Promise<LedgerReport> {
	return checkRules(store, LEDGER_RULES);
}
