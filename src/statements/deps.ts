// The dependencies of the use cases about statements, and the check that only staff use them.

import { type Result, refuse } from "../domain/fault.ts";
import type { MailDispatcher } from "../mail/dispatcher.ts";
import { type Actor, transactAs } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Db } from "../store/store.ts";

export interface StatementsDeps extends AccountsDeps {
	mails: MailDispatcher;
	publicUrl: string;
}

/** Dependencies of use cases that run inside the caller's transaction. The caller calls `mails.wake` after it. */
export type InTransaction = Omit<StatementsDeps, "store">;

/** Runs a transaction that only the network's staff, the command line and the service may run. */
export function transactAsStaff<Value>(
	{ store }: Pick<StatementsDeps, "store">,
	actor: Actor,
	work: (trx: Db) => Promise<Result<Value>>,
): Promise<Result<Value>> {
	return transactAs<Value>(store, actor, async (trx) =>
		actor.kind === "shop" ? refuse("not_allowed", "Only the network's staff can do this.") : work(trx),
	);
}
