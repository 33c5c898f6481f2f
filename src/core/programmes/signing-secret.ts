// Replaces the signing secret of a shop or a partner without losing a callback. First the new secret is prepared,
// then added to the program that receives callbacks, beside the old secret, then activated, and finally the old
// secret ends. domain/secret-life.ts shows the states.

import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import { SEALING_IV_BYTES, sealSecret } from "../domain/sealing.ts";
import type { Actor } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { fixBrand } from "../store/queries/network.ts";
import type { Programme } from "../store/queries/programmes.ts";
import { sealingKeyIn } from "../store/queries/sealing-key.ts";
import {
	activatePrepared,
	endSecrets,
	findActiveSecret,
	findPreparedSecret,
	insertSecret,
	lockSecret,
	lockUsableSecrets,
	type SigningSecret,
	stateOf,
} from "../store/queries/signing-secrets.ts";
import type { Db } from "../store/store.ts";
import { changeReceiver, noteOn, type ReceiverChange } from "./receivers.ts";

/** Number of random bytes of a secret. 256 bits cannot be guessed. */
const SECRET_BYTES = 32;
const HINT_LENGTH = 4;

export interface MadeSecret {
	secretId: string;
	/** Plain text of the secret, which is shown only once. */
	secret: string;
}

/**
 * Prepares a new secret. Requests to us may be signed with it at once. Callbacks are signed with the old
 * secret until the new one is activated.
 */
export async function prepareSecret(
	deps: AccountsDeps,
	ownerPublicId: string,
	actor: Actor,
): Promise<Result<MadeSecret>> {
	return changeReceiver(deps, ownerPublicId, actor, async (change) => {
		const { trx, receiver, nowMs } = change;
		if ((await findActiveSecret(trx, receiver.receiver_id)) === undefined) {
			return refuse(
				"no_signing_secret",
				"There is no signing secret to replace yet. It comes with the first API key: issue one.",
			);
		}
		if ((await findPreparedSecret(trx, receiver.receiver_id)) !== undefined) {
			return refuse(
				"secret_already_prepared",
				"A new secret is prepared already. Activate it, or discard it and prepare another.",
			);
		}
		const { owner, personId } = change;
		const prepared = await makeSecret(trx, deps, { ...receiver, ...owner }, nowMs, null, personId);
		await noteStep(change, "secretPrepared", { hint: hintOf(prepared.secret) });
		return succeed(prepared);
	});
}

/**
 * Activates a prepared secret, with which callbacks are signed from the next attempt on. Activating it twice changes
 * nothing.
 */
export async function activateSecret(
	deps: Pick<AccountsDeps, "store" | "clock">,
	ownerPublicId: string,
	/** Public id of the secret that the person saw. Another secret may have been prepared since. */
	secretId: string,
	actor: Actor,
): Promise<Result<true>> {
	return changeReceiver(deps, ownerPublicId, actor, async (change) => {
		const { trx, receiver, nowMs } = change;
		const secret = await lockSecret(trx, receiver.receiver_id, secretId);
		const state = secret === undefined ? undefined : stateOf(secret, nowMs);
		if (secret === undefined || (state !== "active" && state !== "prepared")) return notPrepared();
		if (state === "active") return succeed(true);
		await activatePrepared(trx, secret, nowMs);
		await noteStep(change, "secretActivated", secret);
		return succeed(true);
	});
}

export async function discardSecret(
	deps: Pick<AccountsDeps, "store" | "clock">,
	ownerPublicId: string,
	secretId: string,
	actor: Actor,
): Promise<Result<true>> {
	return changeReceiver(deps, ownerPublicId, actor, async (change) => {
		const { trx, receiver, nowMs } = change;
		const secret = await lockSecret(trx, receiver.receiver_id, secretId);
		if (secret === undefined || secret.activated_at_ms !== null) return notPrepared();
		if (secret.ended_at_ms !== null) return succeed(true);
		await endSecrets(trx, [secret], nowMs);
		await noteStep(change, "secretDiscarded", secret);
		return succeed(true);
	});
}

/** Ends all replaced secrets that are still in their grace period. Resolves to their number. */
export async function endReplacedSecrets(
	deps: Pick<AccountsDeps, "store" | "clock">,
	ownerPublicId: string,
	actor: Actor,
): Promise<Result<number>> {
	return changeReceiver(deps, ownerPublicId, actor, async (change) => {
		const { trx, receiver, nowMs } = change;
		const usable = await lockUsableSecrets(trx, receiver.receiver_id, nowMs);
		const replaced = usable.filter((secret) => stateOf(secret, nowMs) === "replaced");
		await endSecrets(trx, replaced, nowMs);
		for (const secret of replaced) await noteStep(change, "secretEnded", secret);
		return succeed(replaced.length);
	});
}

/** Creates and stores a secret in the caller's transaction. If `activatedAtMs` is null, the secret is only prepared. */
export async function makeSecret(
	trx: Db,
	{ random, keyRing }: Pick<AccountsDeps, "random" | "keyRing">,
	owner: Pick<Programme, "public_id" | "receiver_id">,
	nowMs: number,
	activatedAtMs: number | null,
	preparedBy: number | null = null,
): Promise<MadeSecret> {
	// Fixing the brand locks the network's row before the secret is stored. If a person changes the brand at
	// the same moment, their change either finishes first, or is refused because the brand is fixed.
	await fixBrand(trx, owner);
	const receiverId = owner.receiver_id;
	const secret = `rbs_${random.hex(SECRET_BYTES)}`;
	const secretId = makeId("sec", nowMs, random.bytes(ID_RANDOM_BYTES));
	const key = await sealingKeyIn(trx, keyRing);
	await insertSecret(trx, {
		public_id: secretId,
		receiver_id: receiverId,
		sealed: sealSecret(key, receiverId, secret, random.bytes(SEALING_IV_BYTES)),
		hint: hintOf(secret),
		created_at_ms: nowMs,
		activated_at_ms: activatedAtMs,
		prepared_by: preparedBy,
	});
	return { secretId, secret };
}

function noteStep(
	change: ReceiverChange,
	step: "secretPrepared" | "secretActivated" | "secretDiscarded" | "secretEnded",
	{ hint }: Pick<SigningSecret, "hint">,
): Promise<void> {
	return noteAudit(change.trx, noteOn(change, step, { object: `rbs_…${hint}` }), change.nowMs);
}

function hintOf(secret: string): string {
	return secret.slice(-HINT_LENGTH);
}

function notPrepared(): ReturnType<typeof refuse> {
	return refuse(
		"secret_not_prepared",
		"This secret is no longer prepared, because it was discarded or replaced. Reload the page to see the present secrets.",
	);
}
