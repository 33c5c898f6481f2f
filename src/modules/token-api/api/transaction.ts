// Adds two promises of the API to the transaction of a use case: a resource that has not changed since the
// caller read it (If-Match), and a resource that is created once for each reference of the caller. The
// promises are attached to the actor, and `transactAs` checks them in the transaction of the change.

import { type Result, refusalOf, succeed } from "#core/domain/fault.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import type { TokenHolder } from "#core/people/actor.ts";
import type { Db } from "#core/store/store.ts";
import { findReference, insertReference } from "../store/api-references.ts";
import { tagOf, tagsMatch } from "./entity-tag.ts";
import type { TokenApiDeps, TokenCall } from "./route.ts";

/**
 * Returns an actor for the caller. Its change is refused if the resource is not the version that If-Match
 * names. `show` reads the resource in the form in which it is answered. The transaction holds the access
 * lock, which every change of a resource takes, so nobody can change the resource between the check and the
 * change.
 */
export function ifUnchanged(
	{ holder, ifMatch }: Pick<TokenCall<unknown, unknown>, "holder" | "ifMatch">,
	show: (db: Db) => Promise<unknown>,
): TokenHolder {
	if (ifMatch === undefined) return holder;
	const before = async (trx: Db): Promise<Result<true>> =>
		tagsMatch(ifMatch, tagOf(await show(trx)), "strongly")
			? succeed(true)
			: refusalOf("precondition_failed", {});
	return { ...holder, demands: { before } };
}

export interface CreatedResource<Created> {
	id: string;
	/** The result of the use case, or null if an earlier call with the same reference created the resource. */
	result: Created | null;
}

/**
 * Runs a use case that creates a resource, at most once for each reference. With a reference that was used before, it
 * creates nothing and returns the resource of the first call if the values are the same. Other values are refused.
 */
export async function createOnce<Created>(
	deps: Pick<TokenApiDeps, "store">,
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
		/** Runs the use case with the given actor, in one transaction. */
		create(holder: TokenHolder): Promise<Result<Created>>;
		idOf(created: Created): string;
	},
): Promise<Result<CreatedResource<Created>>> {
	const { reference, ...sent } = call.body;
	if (reference === undefined) {
		const result = await create(call.holder);
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
	// The cast is safe, because `transactAs` passes the value that the use case returns.
	const after = async (trx: Db, created: unknown): Promise<Result<true>> => {
		const stored = { ...row, resource: idOf(created as Created), created_at_ms: call.nowMs };
		return (await insertReference(trx, stored)) ? succeed(true) : refusalOf("reference_used", { reference });
	};
	const result = await create({ ...call.holder, demands: { after } });
	if (result.ok) return succeed({ id: idOf(result.value), result: result.value });
	// The first call may have created the resource while this one waited for a lock. The use case then refuses, for
	// example because the code is taken, or the reference cannot be stored a second time.
	return (await findEarlier(deps, row)) ?? result;
}

async function findEarlier(
	{ store }: Pick<TokenApiDeps, "store">,
	row: { owner_id: number; kind: string; reference: string; request_hash: string },
): Promise<Result<CreatedResource<never>> | null> {
	const earlier = await findReference(store.db, row);
	if (earlier === undefined) return null;
	if (earlier.request_hash === row.request_hash) return succeed({ id: earlier.resource, result: null });
	return refusalOf("reference_used", { reference: row.reference });
}
