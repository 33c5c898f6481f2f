// Reads all data about a person or a partner, for an export. Long lists are read in batches.

import type { ReceiverId } from "#core/domain/receiver.ts";
import type { PersonKind } from "#core/domain/roles.ts";
import { NO_ID } from "#core/store/no-id.ts";
import type { Db } from "#core/store/store.ts";
import type { AuditEntry } from "#core/store/tables/notices.ts";
import { EVER } from "#modules/partners/store/clicks.ts";

const BATCH_ROWS = 500;

/** Yields the rows of a list in the order of their ids. The rows are read in batches. */
async function* inBatches<Row extends { id: number }>(
	read: (afterId: number, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Omit<Row, "id">[]> {
	let afterId = NO_ID;
	for (;;) {
		const rows = await read(afterId, BATCH_ROWS);
		if (rows.length > 0) yield rows.map(({ id: _, ...row }) => row);
		const last = rows.at(-1);
		if (last === undefined || rows.length < BATCH_ROWS) return;
		afterId = last.id;
	}
}

export async function findAccountFacts(db: Db, personId: number) {
	const password = db.selectFrom("passwords").select("changed_at_ms").where("person_id", "=", personId);
	const authenticator = db
		.selectFrom("authenticators")
		.select("turned_on_at_ms")
		.where("person_id", "=", personId);
	return {
		passwordChangedAtMs: (await password.executeTakeFirst())?.changed_at_ms ?? null,
		authenticatorOnAtMs: (await authenticator.executeTakeFirst())?.turned_on_at_ms ?? null,
	};
}

/**
 * Returns the links and invitations for a person or for the person's addresses, and the links and invitations
 * that the person made.
 */
export function listLinksOf(db: Db, personId: number, emails: readonly string[]) {
	return db
		.selectFrom("sign_in_links")
		.select(["purpose", "person_id", "email", "made_by", "created_at_ms", "expires_at_ms", "withdrawn"])
		.where((eb) =>
			eb.or([eb("person_id", "=", personId), eb("made_by", "=", personId), eb("email", "in", emails)]),
		)
		.orderBy("id")
		.execute();
}

export function listApplicationsOf(db: Db, by: { emails: readonly string[] } | { partnerId: number }) {
	const applications = db
		.selectFrom("applications")
		.innerJoin("programmes", "programmes.id", "applications.programme_id")
		.select(["applications.public_id as id", "programmes.name as programme", "applications.name"])
		.select(["applications.email", "applications.site", "applications.about", "applications.terms"])
		.select("applications.created_at_ms")
		.orderBy("applications.id");
	return (
		"emails" in by
			? applications.where("applications.email", "in", by.emails)
			: applications.where("applications.partner_id", "=", by.partnerId)
	).execute();
}

export function listKeysOf(db: Db, personId: number) {
	return db
		.selectFrom("api_keys")
		.innerJoin("programmes", "programmes.id", "api_keys.programme_id")
		.select(["api_keys.public_id as id", "api_keys.name", "programmes.name as programme"])
		.select(["api_keys.created_at_ms", "api_keys.last_used_at_ms", "api_keys.revoked_at_ms"])
		.where("issued_by", "=", personId)
		.orderBy("api_keys.id")
		.execute();
}

export function listTokensOf(db: Db, by: { personId: number } | { partnerId: number }) {
	const tokens = db
		.selectFrom("api_tokens")
		.select(["public_id as id", "name", "token_right as right", "created_at_ms"])
		.select(["expires_at_ms", "last_used_at_ms", "revoked_at_ms"])
		.orderBy("api_tokens.id");
	return (
		"personId" in by
			? tokens.where("issued_by", "=", by.personId)
			: tokens.where("partner_id", "=", by.partnerId)
	).execute();
}

export function listFilesOf(db: Db, personId: number) {
	return db
		.selectFrom("jobs")
		.select(["public_id as id", "kind", "file_name", "created_at_ms", "finished_at_ms"])
		.where((eb) => eb.or([eb("person_id", "=", personId), eb("applied_by", "=", personId)]))
		.orderBy("jobs.id")
		.execute();
}

export function listMailsTo(db: Db, emails: readonly string[]) {
	return db
		.selectFrom("mail_queue")
		.select(["to_address", "topic", "subject", "sealed_text", "created_at_ms", "sent_at_ms"])
		.where("to_address", "in", emails)
		.orderBy("id")
		.execute();
}

/** Number of audit entries that are searched at a time for a subject, which no index contains. */
const SEARCHED_ENTRIES = 10_000;

/** An audit entry as an export shows it, and the person who acted. */
export interface ExportedEntry extends Omit<AuditEntry, "id" | "programme_id" | "token_id"> {
	programme: string | null;
	/** Kind of the person who acted, or null for the command line and the service itself. */
	kind: PersonKind | null;
}

/** Yields the audit entries of a person, or those about one of the subjects, the oldest first. */
export async function* readAuditOf(
	db: Db,
	by: { personId: number } | { subjects: readonly string[] },
): AsyncGenerator<readonly ExportedEntry[]> {
	if ("personId" in by) {
		yield* inBatches((afterId, limit) =>
			readAudit(db)
				.where("audit_entries.person_id", "=", by.personId)
				.where("audit_entries.id", ">", afterId)
				.limit(limit)
				.execute(),
		);
		return;
	}
	const { last } = await db
		.selectFrom("audit_entries")
		.select(({ fn }) => fn.max("id").as("last"))
		.executeTakeFirstOrThrow();
	for (let from = 0; from <= (last ?? 0); from += SEARCHED_ENTRIES) {
		const rows = await readAudit(db)
			.where("audit_entries.id", ">", from)
			.where("audit_entries.id", "<=", from + SEARCHED_ENTRIES)
			.where((eb) => eb.or([eb("subject", "in", by.subjects), eb("detail", "in", by.subjects)]))
			.execute();
		yield rows.map(({ id: _, ...row }) => row);
	}
}

function readAudit(db: Db) {
	return db
		.selectFrom("audit_entries")
		.leftJoin("people", "people.id", "audit_entries.person_id")
		.leftJoin("programmes", "programmes.id", "audit_entries.programme_id")
		.select(["audit_entries.id", "audit_entries.at_ms", "audit_entries.action", "audit_entries.subject"])
		.select(["audit_entries.detail", "audit_entries.address", "audit_entries.person_id"])
		.select(["people.kind", "programmes.name as programme"])
		.orderBy("audit_entries.id");
}

export function listPartnershipIds(db: Db, partnerId: number): Promise<{ id: number }[]> {
	const partnerships = db.selectFrom("partnerships").select("id").where("partner_id", "=", partnerId);
	return partnerships.orderBy("id").execute();
}

export function listInvitedAddresses(db: Db, partnerId: number) {
	return db
		.selectFrom("sign_in_links")
		.select(["email", "created_at_ms", "expires_at_ms"])
		.where("partner_id", "=", partnerId)
		.orderBy("id")
		.execute();
}

export function readLinks(db: Db, partnershipIds: readonly number[]) {
	return inBatches((afterId, limit) =>
		db
			.selectFrom("partner_links")
			.innerJoin("partnerships", "partnerships.id", "partner_links.partnership_id")
			.innerJoin("programmes", "programmes.id", "partnerships.programme_id")
			.select(["partner_links.id", "partner_links.code", "partner_links.name", "partner_links.target"])
			.select(["programmes.name as programme", "partner_links.created_at_ms"])
			.where("partner_links.partnership_id", "in", partnershipIds)
			.where("partner_links.id", ">", afterId)
			.orderBy("partner_links.id")
			.limit(limit)
			.execute(),
	);
}

/** Number of clicks of one kind on a link in a quarter of an hour. */
export interface QuarterOfClicks {
	code: string;
	kind: string;
	quarter: number;
	clicks: number;
}

/** Yields the clicks on each link, in the order of time. */
export async function* readClicks(
	db: Db,
	partnershipIds: readonly number[],
): AsyncGenerator<readonly QuarterOfClicks[]> {
	let afterId = NO_ID;
	for (;;) {
		const link = await db
			.selectFrom("partner_links")
			.select(["id", "code"])
			.where("partnership_id", "in", partnershipIds)
			.where("id", ">", afterId)
			.orderBy("id")
			.limit(1)
			.executeTakeFirst();
		if (link === undefined) return;
		afterId = link.id;
		const quarters = await db
			.selectFrom("click_quarters")
			.select(["kind", "quarter", "clicks"])
			.where("link_id", "=", link.id)
			.where("quarter", ">", EVER)
			.orderBy("kind")
			.orderBy("quarter")
			.execute();
		yield quarters.map((quarter) => ({ code: link.code, ...quarter }));
	}
}

export function readAccount(db: Db, partnerId: number) {
	return inBatches((afterId, limit) =>
		db
			.selectFrom("entries")
			.leftJoin("conversions", "conversions.id", "entries.conversion_id")
			.select(["entries.id", "entries.kind", "entries.amount", "entries.currency", "entries.reason"])
			.select(["conversions.public_id as conversionId", "entries.sub_1", "entries.sub_2", "entries.sub_3"])
			.select("entries.at_ms")
			.where("entries.partner_id", "=", partnerId)
			.where("entries.id", ">", afterId)
			.orderBy("entries.id")
			.limit(limit)
			.execute(),
	);
}

export function listEndpoints(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("endpoints")
		.select(["url", "form", "events", "saved_at_ms"])
		.where("receiver_id", "=", receiverId)
		.orderBy("id")
		.execute();
}

export function listSecretFacts(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("signing_secrets")
		.select(["public_id as id", "hint", "created_at_ms", "activated_at_ms", "replaced_at_ms", "ended_at_ms"])
		.where("receiver_id", "=", receiverId)
		.orderBy("signing_secrets.id")
		.execute();
}

/** Yields the callbacks of a receiver with their attempts. */
export async function* readCallbacks(db: Db, receiverId: ReceiverId) {
	const events = inBatches((afterId, limit) =>
		db
			.selectFrom("deliveries")
			.innerJoin("events", "events.id", "deliveries.id")
			.select(["deliveries.id", "deliveries.id as delivery", "deliveries.public_id", "deliveries.name"])
			.select(["deliveries.state", "deliveries.created_at_ms", "events.body"])
			.where("deliveries.receiver_id", "=", receiverId)
			.where("deliveries.id", ">", afterId)
			.orderBy("deliveries.id")
			.limit(limit)
			.execute(),
	);
	for await (const batch of events) {
		const attempts = await db
			.selectFrom("attempts")
			.select(["delivery_id", "started_at_ms", "result", "http_status", "detail", "answer"])
			.where(
				"delivery_id",
				"in",
				batch.map(({ delivery }) => delivery),
			)
			.orderBy("delivery_id")
			.orderBy("seq")
			.execute();
		const byDelivery = Map.groupBy(attempts, ({ delivery_id }) => delivery_id);
		yield batch.map(({ delivery, ...event }) => ({
			...event,
			attempts: (byDelivery.get(delivery) ?? []).map(({ delivery_id: _, ...attempt }) => attempt),
		}));
	}
}

export function listReferences(db: Db, partnerId: number) {
	return db
		.selectFrom("api_references")
		.select(["kind", "reference", "resource", "created_at_ms"])
		.where("owner_id", "=", partnerId)
		.orderBy("kind")
		.orderBy("reference")
		.execute();
}

export function listNoticesOf(db: Db, receiverId: ReceiverId) {
	return db
		.selectFrom("notices")
		.select(["kind", "opened_at_ms", "ended_at_ms", "failures", "last_detail", "mailed_at_ms"])
		.where("receiver_id", "=", receiverId)
		.orderBy("id")
		.execute();
}
