// Replaces a programme's signing secret without losing a callback: prepare the new one, add it to the shop's receiver beside
// the old one, activate it, and end the old one. domain/secret-life.ts draws the states.

import type { AuditAction } from "../domain/action.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "../domain/id.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { SEALING_IV_BYTES, sealSecret } from "../domain/sealing.ts";
import type { Actor } from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { fixBrand } from "../store/queries/network.ts";
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
import { changeLocked, type ProgrammeChange } from "./programmes.ts";

/** 256 bits cannot be guessed. */
const SECRET_BYTES = 32;
const HINT_LENGTH = 4;

export interface MadeSecret {
	secretId: string;
	/** The secret itself, which is shown only once. */
	secret: string;
}

/** The new secret is accepted for requests to us at once. Callbacks are signed with the old one until this one is activated. */
export async function prepareSecret(
	deps: AccountsDeps,
	programmePublicId: string,
	actor: Actor,
): Promise<Result<MadeSecret>> {
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		if ((await findActiveSecret(trx, programme.receiver_id)) === undefined) {
			return refuse(
				"no_signing_secret",
				"There is no signing secret to replace yet. It comes with the first API key: issue one.",
			);
		}
		if ((await findPreparedSecret(trx, programme.receiver_id)) !== undefined) {
			return refuse(
				"secret_already_prepared",
				"A new secret is prepared already. Activate it, or discard it and prepare another.",
			);
		}
		const made = await makeSecret(trx, deps, programme.receiver_id, nowMs, null, personId);
		const secret = { hint: hintOf(made.secret) };
		await noteStep(trx, "secret.prepared", { programme, personId, secret, nowMs });
		return succeed(made);
	});
}

/** From the next attempt on, callbacks are signed with this secret. Activating it twice changes nothing. */
export async function activateSecret(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	/** The secret that the person saw. Another may have been prepared since. */
	secretId: string,
	actor: Actor,
): Promise<Result<true>> {
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		const secret = await lockSecret(trx, programme.receiver_id, secretId);
		const state = secret === undefined ? undefined : stateOf(secret, nowMs);
		if (secret === undefined || (state !== "active" && state !== "prepared")) return notPrepared();
		if (state === "active") return succeed(true);
		await activatePrepared(trx, secret, nowMs);
		await noteStep(trx, "secret.activated", { programme, personId, secret, nowMs });
		return succeed(true);
	});
}

/** Ends a prepared secret at once. */
export async function discardSecret(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	secretId: string,
	actor: Actor,
): Promise<Result<true>> {
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		const secret = await lockSecret(trx, programme.receiver_id, secretId);
		if (secret === undefined || secret.activated_at_ms !== null) return notPrepared();
		if (secret.ended_at_ms !== null) return succeed(true);
		await endSecrets(trx, [secret], nowMs);
		await noteStep(trx, "secret.discarded", { programme, personId, secret, nowMs });
		return succeed(true);
	});
}

/** Ends all replaced secrets that are still in their grace period, and resolves to their number. */
export async function endReplacedSecrets(
	deps: Pick<AccountsDeps, "store" | "clock">,
	programmePublicId: string,
	actor: Actor,
): Promise<Result<number>> {
	return changeLocked(deps, programmePublicId, actor, async ({ trx, programme, personId, nowMs }) => {
		const usable = await lockUsableSecrets(trx, programme.receiver_id, nowMs);
		const replaced = usable.filter((secret) => stateOf(secret, nowMs) === "replaced");
		await endSecrets(trx, replaced, nowMs);
		for (const secret of replaced)
			await noteStep(trx, "secret.ended", { programme, personId, secret, nowMs });
		return succeed(replaced.length);
	});
}

/** Runs in the caller's transaction. `activatedAtMs` is null for a secret that is only prepared. */
export async function makeSecret(
	trx: Db,
	{ random, sealingKey }: Pick<AccountsDeps, "random" | "sealingKey">,
	receiverId: ReceiverId,
	nowMs: number,
	activatedAtMs: number | null,
	preparedBy: number | null = null,
): Promise<MadeSecret> {
	// This takes the lock of the network's row before the secret is stored. A person who chooses a brand at the same moment
	// is finished before, or finds the brand fixed.
	await fixBrand(trx);
	const secret = `rbs_${random.hex(SECRET_BYTES)}`;
	const secretId = makeId("sec", nowMs, random.bytes(ID_RANDOM_BYTES));
	await insertSecret(trx, {
		public_id: secretId,
		receiver_id: receiverId,
		sealed: sealSecret(sealingKey, receiverId, secret, random.bytes(SEALING_IV_BYTES)),
		hint: hintOf(secret),
		created_at_ms: nowMs,
		activated_at_ms: activatedAtMs,
		prepared_by: preparedBy,
	});
	return { secretId, secret };
}

function noteStep(
	trx: Db,
	action: AuditAction & `secret.${string}`,
	{
		programme,
		personId,
		secret,
		nowMs,
	}: Pick<ProgrammeChange, "programme" | "personId" | "nowMs"> & { secret: Pick<SigningSecret, "hint"> },
): Promise<void> {
	const subject = `rbs_…${secret.hint}`;
	return noteAudit(trx, { personId, programmeId: programme.id, action, subject }, nowMs);
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
