// A receiver's signing secrets, stored encrypted. domain/secret-life.ts explains their times.

import type { Insertable, Selectable } from "kysely";
import type { ReceiverId } from "../../domain/receiver.ts";
import {
	graceEndsAtMs,
	REPLACED_SECRET_GRACE_MS,
	type SecretState,
	type SecretTimes,
	stateAt,
} from "../../domain/secret-life.ts";
import { type Locked, lockRow, lockRows } from "../locked.ts";
import type { Db } from "../store.ts";
import type { SigningSecretsTable } from "../tables/receivers.ts";

export type SigningSecret = Selectable<SigningSecretsTable>;

export function stateOf(secret: SigningSecret, nowMs: number): SecretState {
	return stateAt(timesOf(secret), nowMs);
}

/** Returns the time until which a replaced secret is accepted, or null if the secret was not replaced. */
export function goodUntilMs(secret: SigningSecret): number | null {
	return graceEndsAtMs(timesOf(secret));
}

function timesOf({ activated_at_ms, replaced_at_ms, ended_at_ms }: SigningSecret): SecretTimes {
	return { activatedAtMs: activated_at_ms, replacedAtMs: replaced_at_ms, endedAtMs: ended_at_ms };
}

export async function insertSecret(db: Db, secret: Insertable<SigningSecretsTable>): Promise<void> {
	await db.insertInto("signing_secrets").values(secret).execute();
}

/**
 * Returns the secrets with which a request to us may be signed, the newest first. These are each receiver's active
 * secret, its prepared secret, and replaced secrets that are still in their grace period.
 */
export async function findUsableSecrets(
	db: Db,
	receiverIds: readonly ReceiverId[],
	nowMs: number,
): Promise<SigningSecret[]> {
	if (receiverIds.length === 0) return [];
	return selectUsable(db, receiverIds, nowMs).orderBy("id", "desc").execute();
}

export function lockUsableSecrets(
	trx: Db,
	receiverId: ReceiverId,
	nowMs: number,
): Promise<Locked<SigningSecret>[]> {
	return lockRows(trx, selectUsable(trx, [receiverId], nowMs).orderBy("id"));
}

function selectUsable(db: Db, receiverIds: readonly ReceiverId[], nowMs: number) {
	return db
		.selectFrom("signing_secrets")
		.selectAll()
		.where("receiver_id", "in", receiverIds)
		.where("ended_at_ms", "is", null)
		.where((eb) =>
			eb.or([eb("replaced_at_ms", "is", null), eb("replaced_at_ms", ">", nowMs - REPLACED_SECRET_GRACE_MS)]),
		);
}

export async function isSecretUsable(db: Db, id: number, nowMs: number): Promise<boolean> {
	const secret = await db.selectFrom("signing_secrets").selectAll().where("id", "=", id).executeTakeFirst();
	return secret !== undefined && stateOf(secret, nowMs) !== "ended";
}

export async function listEndedSecrets(
	db: Db,
	receiverId: ReceiverId,
	nowMs: number,
	limit: number,
): Promise<SigningSecret[]> {
	return secretsOf(db, receiverId)
		.where((eb) =>
			eb.or([
				eb("ended_at_ms", "is not", null),
				eb("replaced_at_ms", "<=", nowMs - REPLACED_SECRET_GRACE_MS),
			]),
		)
		.orderBy("id", "desc")
		.limit(limit)
		.execute();
}

export function lockSecret(
	trx: Db,
	receiverId: ReceiverId,
	publicId: string,
): Promise<Locked<SigningSecret> | undefined> {
	return lockRow(trx, secretsOf(trx, receiverId).where("public_id", "=", publicId));
}

export async function findActiveSecret(db: Db, receiverId: ReceiverId): Promise<SigningSecret | undefined> {
	return secretsOf(db, receiverId)
		.where("activated_at_ms", "is not", null)
		.where("replaced_at_ms", "is", null)
		.executeTakeFirst();
}

/**
 * Time for which an attempt may still be signed with the previous secret, because callbacks/targets.ts caches secrets.
 */
const TARGET_AGE_MS = 5_000;
/** Number of newest deliveries that are searched. It covers the day in which a secret is usually replaced. */
const DELIVERIES_LOOKED_AT = 500;

/** Returns whether the receiver answered 2xx to a callback that was signed with the active secret. */
export async function isActiveAccepted(db: Db, receiverId: ReceiverId): Promise<boolean> {
	const active = await findActiveSecret(db, receiverId);
	const sinceMs = (active?.activated_at_ms ?? Number.POSITIVE_INFINITY) + TARGET_AGE_MS;
	const newest = db
		.selectFrom("events")
		.select("id")
		.where("receiver_id", "=", receiverId)
		.orderBy("id", "desc")
		.limit(DELIVERIES_LOOKED_AT);
	const accepted = await db
		.selectFrom(newest.as("newest"))
		.innerJoin("attempts", "attempts.delivery_id", "newest.id")
		.select("newest.id")
		.where("attempts.http_status", ">=", 200)
		.where("attempts.http_status", "<=", 299)
		.where("attempts.started_at_ms", ">", sinceMs)
		.limit(1)
		.executeTakeFirst();
	return accepted !== undefined;
}

export async function findPreparedSecret(db: Db, receiverId: ReceiverId): Promise<SigningSecret | undefined> {
	return secretsOf(db, receiverId)
		.where("activated_at_ms", "is", null)
		.where("ended_at_ms", "is", null)
		.executeTakeFirst();
}

function secretsOf(db: Db, receiverId: ReceiverId) {
	return db.selectFrom("signing_secrets").selectAll().where("receiver_id", "=", receiverId);
}

/** A prepared secret, with the programme or the partner of its receiver. */
export type PreparedSecret = SigningSecret & { programme_id: number | null; partner_id: number | null };

/**
 * Programme or partner to which a list of prepared secrets is limited. By default, the secrets of all programmes and
 * partners are listed.
 */
export interface PreparedSecretScope {
	programmeId?: number | null;
	partnerId?: number | null;
}

/** Returns secrets that the person prepared and that were neither activated nor discarded. */
export async function listSecretsPreparedBy(
	db: Db,
	personId: number,
	scope: PreparedSecretScope = {},
): Promise<PreparedSecret[]> {
	return selectPreparedBy(db, personId, scope).orderBy("id").execute();
}

export function lockSecretsPreparedBy(
	trx: Db,
	personId: number,
	scope: PreparedSecretScope = {},
): Promise<Locked<PreparedSecret>[]> {
	return lockRows(trx, selectPreparedBy(trx, personId, scope).orderBy("id"));
}

function selectPreparedBy(
	db: Db,
	personId: number,
	{ programmeId = null, partnerId = null }: PreparedSecretScope,
) {
	return (
		db
			.selectFrom("signing_secrets")
			.selectAll()
			// The programme and partner are subqueries, because the rows of a join would be locked, too. Use cases lock a
			// receiver before its secrets.
			.select((eb) => {
				const receiver = eb
					.selectFrom("receivers")
					.whereRef("receivers.id", "=", "signing_secrets.receiver_id");
				return [
					receiver.select("receivers.programme_id").as("programme_id"),
					receiver.select("receivers.partner_id").as("partner_id"),
				];
			})
			.where("prepared_by", "=", personId)
			.where("activated_at_ms", "is", null)
			.where("ended_at_ms", "is", null)
			.$if(programmeId !== null, (secrets) =>
				secrets.where("receiver_id", "in", (eb) =>
					eb.selectFrom("receivers").select("receivers.id").where("receivers.programme_id", "=", programmeId),
				),
			)
			.$if(partnerId !== null, (secrets) =>
				secrets.where("receiver_id", "in", (eb) =>
					eb.selectFrom("receivers").select("receivers.id").where("receivers.partner_id", "=", partnerId),
				),
			)
	);
}

/**
 * Activates the prepared secret. The active secret is replaced first, so that at every moment at most one secret is
 * active.
 */
export async function activatePrepared(
	trx: Db,
	{ id, receiver_id }: Locked<SigningSecret>,
	nowMs: number,
): Promise<void> {
	await trx
		.updateTable("signing_secrets")
		.set({ replaced_at_ms: nowMs })
		.where("receiver_id", "=", receiver_id)
		.where("activated_at_ms", "is not", null)
		.where("replaced_at_ms", "is", null)
		.execute();
	await trx.updateTable("signing_secrets").set({ activated_at_ms: nowMs }).where("id", "=", id).execute();
}

export async function endSecrets(
	trx: Db,
	secrets: readonly Locked<SigningSecret>[],
	nowMs: number,
): Promise<void> {
	if (secrets.length === 0) return;
	const ids = secrets.map(({ id }) => id);
	await trx.updateTable("signing_secrets").set({ ended_at_ms: nowMs }).where("id", "in", ids).execute();
}
