// Adds two promises of the API to the transaction of a use case: a resource that has not changed since the caller read it
// (If-Match), and a resource that is created once for each reference of the caller. The use case itself knows of neither.
// Both checks run in its own transaction, so they hold also if two calls arrive at the same moment.

import { type Fault, faultOf, type Result, refusalOf, succeed } from "../../domain/fault.ts";
import { sha256Hex } from "../../domain/signature.ts";
import { findReference, insertReference } from "../../store/queries/api-tokens.ts";
import { lockAccess } from "../../store/queries/sign-in-links.ts";
import type { Db } from "../../store/store.ts";
import { tagOf, tagsMatch } from "./entity-tag.ts";
import type { TokenApiDeps, TokenCall } from "./route.ts";

/** Rolls back the transaction of a use case, and becomes the answer. */
export class CallRefused extends Error {
	readonly fault: Fault;

	constructor(fault: Fault) {
		super(fault.code);
		this.fault = fault;
	}
}

/**
 * Returns dependencies whose transaction is refused if the resource is not the one that If-Match names. `show` reads the
 * resource as it is answered. The transaction takes the access lock first, which every change of a resource takes, so
 * nobody can change the resource between the check and the change.
 */
export function requireMatch(
	deps: TokenApiDeps,
	{ ifMatch }: Pick<TokenCall<unknown, unknown>, "ifMatch">,
	show: (db: Db) => Promise<unknown>,
): TokenApiDeps {
	if (ifMatch === undefined) return deps;
	return withTransact(deps, async (trx, work) => {
		await lockAccess(trx);
		if (!tagsMatch(ifMatch, tagOf(await show(trx)), "strongly")) {
			throw new CallRefused(faultOf("precondition_failed", {}));
		}
		return work();
	});
}

export interface CreatedResource<Created> {
	/** Id of the resource. */
	id: string;
	/** The result of the use case, or null if an earlier call with the same reference created the resource. */
	result: Created | null;
}

/**
 * Runs a use case that creates a resource, at most once for each reference. With a reference that was used before, it
 * creates nothing and returns the resource of the first call if the values are the same. Other values are refused.
 */
export async function createOnce<Created>(
	deps: TokenApiDeps,
	call: TokenCall<unknown, { reference?: string | undefined }>,
	kind: string,
	{
		values,
		create,
		idOf,
	}: {
		/**
		 * Values of the body in the form in which they are stored. A reference may be used again with the same values in
		 * another spelling. By default the body is compared as it was sent.
		 */
		values?: object;
		/** Runs the use case, which must use the given dependencies and one transaction. */
		create(deps: TokenApiDeps): Promise<Result<Created>>;
		idOf(created: Created): string;
	},
): Promise<Result<CreatedResource<Created>>> {
	const { reference, ...sent } = call.body;
	if (reference === undefined) {
		const result = await create(deps);
		return result.ok ? succeed({ id: idOf(result.value), result: result.value }) : result;
	}
	const row = {
		owner_id: call.token.partner_id ?? 0,
		kind,
		reference,
		request_hash: sha256Hex(JSON.stringify([call.path, values ?? sent])),
	};
	const earlier = await findEarlier(deps, row);
	if (earlier !== null) return earlier;
	const once = withTransact(deps, async (trx, work) => {
		const value = await work();
		// The cast is safe, because the use case runs one transaction, and that returns its result.
		const result = value as Result<Created>;
		if (!result.ok) return value;
		const stored = { ...row, resource: idOf(result.value), created_at_ms: call.nowMs };
		if (!(await insertReference(trx, stored))) throw new ReferenceTaken();
		return value;
	});
	try {
		const result = await create(once);
		if (result.ok) return succeed({ id: idOf(result.value), result: result.value });
		// The first call may have created the resource while this one waited for a lock. The use case then refuses, for
		// example because the code is taken.
		return (await findEarlier(deps, row)) ?? result;
	} catch (error) {
		if (!(error instanceof ReferenceTaken)) throw error;
		const first = await findEarlier(deps, row);
		if (first === null) throw error;
		return first;
	}
}

/** Rolls back a creation whose reference another call has used at the same moment. */
class ReferenceTaken extends Error {}

async function findEarlier(
	{ store }: Pick<TokenApiDeps, "store">,
	row: { owner_id: number; kind: string; reference: string; request_hash: string },
): Promise<Result<CreatedResource<never>> | null> {
	const earlier = await findReference(store.db, row);
	if (earlier === undefined) return null;
	if (earlier.request_hash === row.request_hash) return succeed({ id: earlier.resource, result: null });
	return refusalOf("reference_used", { reference: row.reference });
}

/** Returns dependencies whose transactions run `around` around their work. */
function withTransact(
	deps: TokenApiDeps,
	around: <Value>(trx: Db, work: () => Promise<Value>) => Promise<Value>,
): TokenApiDeps {
	const { store } = deps;
	return {
		...deps,
		store: {
			...store,
			transact: (work, options) => store.transact((trx) => around(trx, () => work(trx)), options),
		},
	};
}
