// Removes names, addresses and texts of erased people and partners from rows that stay. Large tables are walked in batches.
// Each function handles one batch after a position, and returns the next position, or null at the end. Doing a batch again
// changes nothing.

import {
	ERASED_LINK,
	ERASED_TEXT,
	type Eraser,
	erasedLinkCode,
	eraseInDetails,
	eraseInQuery,
} from "#core/domain/erasure.ts";
import { eraseSubIds } from "#core/domain/partner-event.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { lockRows } from "#core/store/locked.ts";
import { NO_ID } from "#core/store/no-id.ts";
import type { Db } from "#core/store/store.ts";
import type { AuditEntry } from "#core/store/tables/notices.ts";

const BATCH_ROWS = 500;

/** Position of a walk through a table, or empty at the start. */
export type Position = string;
type Next = Promise<Position | null>;

function nextOf(rows: readonly { id: number }[]): Position | null {
	const last = rows.at(-1);
	return last === undefined || rows.length < BATCH_ROWS ? null : String(last.id);
}

/** Returns the ids of the rows and an id that no row has, because neither database accepts an empty list. */
function idsOf(rows: readonly { id: number }[]): number[] {
	return [NO_ID, ...rows.map(({ id }) => id)];
}

/**
 * Removes the credentials and memberships of a person, and the news and changes that wait to be mailed. The
 * person's sessions have ended already.
 */
export async function removeAccountOf(trx: Db, personId: number): Promise<void> {
	for (const table of ["passwords", "authenticators", "spent_codes", "sign_in_challenges"] as const) {
		await trx.deleteFrom(table).where("person_id", "=", personId).execute();
	}
	for (const table of ["programme_people", "partner_people", "sale_news", "changes_to_tell"] as const) {
		await trx.deleteFrom(table).where("person_id", "=", personId).execute();
	}
	await trx.deleteFrom("sign_in_links").where("person_id", "=", personId).execute();
}

/** Removes invitations to these addresses, and applications from them. */
export async function removeInvitations(trx: Db, emails: readonly string[]): Promise<void> {
	await trx.deleteFrom("sign_in_links").where("email", "in", emails).execute();
	await trx.deleteFrom("applications").where("email", "in", emails).execute();
}

/** Removes the rows that a partner entered, except those to which other rows refer. */
export async function removePartnerRows(trx: Db, partnerId: number): Promise<void> {
	await trx.deleteFrom("partner_people").where("partner_id", "=", partnerId).execute();
	await trx.deleteFrom("sign_in_links").where("partner_id", "=", partnerId).execute();
	await trx.deleteFrom("applications").where("partner_id", "=", partnerId).execute();
	await trx.deleteFrom("payment_details").where("partner_id", "=", partnerId).execute();
	await trx.deleteFrom("sale_news").where("partner_id", "=", partnerId).execute();
	await trx.deleteFrom("api_references").where("owner_id", "=", partnerId).execute();
	await trx
		.deleteFrom("coupon_codes")
		.where("partnership_id", "in", (eb) =>
			eb.selectFrom("partnerships").select("partnerships.id").where("partner_id", "=", partnerId),
		)
		.execute();
	await trx
		.updateTable("api_tokens")
		.set({ name: ERASED_TEXT })
		.where("partner_id", "=", partnerId)
		.execute();
}

/** Removes the URLs and secrets of a partner's receiver, whose endpoint has been removed. */
export async function removeReceiverRows(trx: Db, receiverId: ReceiverId): Promise<void> {
	await trx
		.updateTable("endpoints")
		.set({ url: ERASED_TEXT })
		.where("receiver_id", "=", receiverId)
		.execute();
	for (const table of ["signing_secrets", "notices"] as const) {
		await trx.deleteFrom(table).where("receiver_id", "=", receiverId).execute();
	}
}

export async function eraseLinks(trx: Db, partnerId: number, position: Position): Next {
	const links = await trx
		.selectFrom("partner_links")
		.innerJoin("partnerships", "partnerships.id", "partner_links.partnership_id")
		.select(["partner_links.id", "partner_links.target"])
		.where("partnerships.partner_id", "=", partnerId)
		.where("partner_links.id", ">", Number(position))
		.orderBy("partner_links.id")
		.limit(BATCH_ROWS)
		.execute();
	for (const { id, target } of links) {
		// The shop's own address stays, without the page and the query that the partner chose.
		const erased = { code: erasedLinkCode(id), name: ERASED_LINK, target: `${new URL(target).origin}/` };
		await trx.updateTable("partner_links").set(erased).where("id", "=", id).execute();
	}
	return nextOf(links);
}

/** Removes the sub IDs of credited sales. The position is the partnership, the time of the sale and the conversion. */
export async function eraseCredits(trx: Db, partnerId: number, position: Position): Next {
	const [partnershipId = 0, soldAtMs = 0, conversionId = 0] = position.split(" ").map(Number);
	const partnership = await trx
		.selectFrom("partnerships")
		.select("id")
		.where("partner_id", "=", partnerId)
		.where("id", ">=", partnershipId)
		.orderBy("id")
		.limit(1)
		.executeTakeFirst();
	if (partnership === undefined) return null;
	const from =
		partnership.id === partnershipId ? { soldAtMs, conversionId } : { soldAtMs: 0, conversionId: 0 };
	const credits = await trx
		.selectFrom("credits")
		.select(["conversion_id", "sold_at_ms"])
		.where("partnership_id", "=", partnership.id)
		.where((eb) =>
			eb(eb.refTuple("sold_at_ms", "conversion_id"), ">", eb.tuple(from.soldAtMs, from.conversionId)),
		)
		.orderBy("sold_at_ms")
		.orderBy("conversion_id")
		.limit(BATCH_ROWS)
		.execute();
	const last = credits.at(-1);
	if (last === undefined) return `${partnership.id + 1} 0 0`;
	const ids = credits.map(({ conversion_id }) => conversion_id);
	await trx
		.updateTable("credits")
		.set({ sub_1: "", sub_2: "", sub_3: "" })
		.where("conversion_id", "in", ids)
		// The sale may have been credited to another partner since the row was read.
		.where("partnership_id", "=", partnership.id)
		.where((eb) => eb.or([eb("sub_1", "<>", ""), eb("sub_2", "<>", ""), eb("sub_3", "<>", "")]))
		.execute();
	return `${partnership.id} ${last.sold_at_ms} ${last.conversion_id}`;
}

/** Removes the texts of entries that no statement contains. */
export async function eraseOpenEntries(trx: Db, partnerId: number, position: Position): Next {
	const open = await trx
		.selectFrom("open_entries")
		.select("entry_id as id")
		.where("partner_id", "=", partnerId)
		.where("entry_id", ">", Number(position))
		.orderBy("entry_id")
		.limit(BATCH_ROWS)
		.execute();
	await eraseEntries(trx, idsOf(open));
	return nextOf(open);
}

/** Removes texts and sub IDs of entries. The reason of an entry about a sale is a code, and stays. */
async function eraseEntries(trx: Db, ids: readonly number[]): Promise<void> {
	const entries = trx.updateTable("entries").where("id", "in", ids);
	await entries.set({ sub_1: null, sub_2: null, sub_3: null }).execute();
	await entries
		.set({ reason: ERASED_TEXT })
		.where("reason", "is not", null)
		.where("kind", "in", ["ADJUSTED", "PAID"])
		.execute();
}

/** Removes the sub IDs and links from a partner's callbacks, and the answers of the partner's server. */
export async function eraseCallbacks(trx: Db, receiverId: ReceiverId, position: Position): Next {
	const events = await trx
		.selectFrom("events")
		.select(["id", "body"])
		.where("receiver_id", "=", receiverId)
		.where("id", ">", Number(position))
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
	for (const { id, body } of events) {
		const erased = eraseSubIds(body);
		if (erased !== body) await trx.updateTable("events").set({ body: erased }).where("id", "=", id).execute();
	}
	// The signature was computed from the body that was sent, so it is removed together with the body.
	const erased = { answer: null, detail: null, nonce: null, signature: null };
	await trx.updateTable("attempts").set(erased).where("delivery_id", "in", idsOf(events)).execute();
	return nextOf(events);
}

/**
 * Removes mails to these addresses, sent or not. Mails to somebody who was invited anew since the erasure stay, because a
 * walk would otherwise remove the new invitation.
 */
export async function removeMails(trx: Db, emails: readonly string[]): Next {
	await trx
		.deleteFrom("mail_queue")
		.where("to_address", "in", ["", ...emails])
		.where("to_address", "not in", (eb) => eb.selectFrom("people").select("email"))
		.where("to_address", "not in", (eb) =>
			eb
				.selectFrom("sign_in_links")
				.select("email")
				.where("email", "is not", null)
				.$castTo<{ email: string }>(),
		)
		.execute();
	return null;
}

/** Removes the references that programs of the network gave to the erased resources. */
export async function removeReferences(trx: Db, resources: readonly string[]): Next {
	await trx
		.deleteFrom("api_references")
		.where("owner_id", "=", 0)
		.where("resource", "in", resources)
		.execute();
	return null;
}

/** Removes addresses from notices that name the people who were mailed. */
export async function eraseNotices(trx: Db, erase: Eraser, position: Position): Next {
	const notices = await trx
		.selectFrom("notices")
		.select(["id", "mailed_to", "mail_refused_to"])
		.where("id", ">", Number(position))
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
	const isNamed = (text: string | null) => text !== null && erase(text) !== text;
	const named = notices.filter((row) => isNamed(row.mailed_to) || isNamed(row.mail_refused_to));
	const locked = await lockRows(
		trx,
		trx.selectFrom("notices").selectAll().where("id", "in", idsOf(named)).orderBy("id"),
	);
	for (const { id, mailed_to, mail_refused_to } of locked) {
		const erased = { mailed_to: eraseIn(mailed_to, erase), mail_refused_to: eraseIn(mail_refused_to, erase) };
		await trx.updateTable("notices").set(erased).where("id", "=", id).execute();
	}
	return nextOf(notices);
}

/**
 * Removes names and addresses from the columns of jobs that pages show. The lines of a job are removed some
 * days after its end.
 */
export async function eraseJobs(trx: Db, erase: Eraser, position: Position): Next {
	const erased = (job: { file_name: string | null; list_query: string | null; summary: string | null }) => ({
		file_name: eraseIn(job.file_name, erase),
		list_query: job.list_query === null ? null : eraseInQuery(job.list_query, erase),
		summary: job.summary === null ? null : eraseInDetails(job.summary, erase),
	});
	const jobs = await trx
		.selectFrom("jobs")
		.select(["id", "file_name", "list_query", "summary"])
		.where("id", ">", Number(position))
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
	const named = jobs.filter(({ id: _, ...job }) => JSON.stringify(job) !== JSON.stringify(erased(job)));
	const locked = await lockRows(
		trx,
		trx.selectFrom("jobs").selectAll().where("id", "in", idsOf(named)).orderBy("id"),
	);
	for (const job of locked) {
		await trx.updateTable("jobs").set(erased(job)).where("id", "=", job.id).execute();
	}
	return nextOf(jobs);
}

/** Changes audit entries. `change` gets a batch of entries and returns them with their new texts. */
export async function eraseAudit(
	trx: Db,
	change: (entries: readonly AuditEntry[]) => Promise<readonly AuditEntry[]>,
	position: Position,
): Next {
	const entries = await trx
		.selectFrom("audit_entries")
		.selectAll()
		.where("id", ">", Number(position))
		.orderBy("id")
		.limit(BATCH_ROWS)
		.execute();
	const wanted = changesOf(entries, await change(entries));
	// Two erasures may change the same entry at once, so its text is read again under its lock.
	const locked = await lockRows(
		trx,
		trx.selectFrom("audit_entries").selectAll().where("id", "in", idsOf(wanted)).orderBy("id"),
	);
	for (const { id, subject, detail, address } of changesOf(locked, await change(locked))) {
		await trx.updateTable("audit_entries").set({ subject, detail, address }).where("id", "=", id).execute();
	}
	return nextOf(entries);
}

function changesOf(entries: readonly AuditEntry[], erased: readonly AuditEntry[]): AuditEntry[] {
	return erased.filter((entry, index) => {
		const before = entries[index];
		return (
			entry.subject !== before?.subject || entry.detail !== before.detail || entry.address !== before.address
		);
	});
}

function eraseIn(text: string | null, erase: Eraser): string | null {
	return text === null ? null : erase(text);
}

/** Returns the subjects of audit entries that belong to the partner. */
export async function findSubjectsOfPartner(
	db: Db,
	{ id, public_id }: { id: number; public_id: string },
	subjects: readonly string[],
): Promise<ReadonlySet<string>> {
	const asked = ["", ...subjects];
	const partnerships = await db
		.selectFrom("partnerships")
		.select("public_id as subject")
		.where("partner_id", "=", id)
		.where("public_id", "in", asked)
		.execute();
	const statements = await db
		.selectFrom("statements")
		.select("number as subject")
		.where("partner_id", "=", id)
		.where("number", "in", asked)
		.execute();
	return new Set([public_id, ...[...partnerships, ...statements].map(({ subject }) => subject)]);
}

/**
 * Returns the details of audit entries with these actions, either those by a person or those about a subject.
 */
export function listAuditDetails(
	db: Db,
	actions: readonly string[],
	about: { personId: number } | { subject: string },
): Promise<{ action: string; detail: string | null }[]> {
	const entries = db.selectFrom("audit_entries").select(["action", "detail"]).where("action", "in", actions);
	return (
		"personId" in about
			? entries.where("person_id", "=", about.personId)
			: entries.where("subject", "=", about.subject)
	).execute();
}

/** Returns the names that strangers with these addresses entered in applications that wait for an answer. */
export async function listApplicantNames(db: Db, emails: readonly string[]): Promise<string[]> {
	const applications = db.selectFrom("applications").select("name").where("email", "in", emails);
	return (await applications.where("partner_id", "is", null).execute()).map(({ name }) => name);
}

export async function listLinkCodes(db: Db, partnerId: number): Promise<string[]> {
	const links = await db
		.selectFrom("partner_links")
		.innerJoin("partnerships", "partnerships.id", "partner_links.partnership_id")
		.select("partner_links.code")
		.where("partnerships.partner_id", "=", partnerId)
		.orderBy("partner_links.id")
		.execute();
	return links.map(({ code }) => code);
}

/**
 * Removes the parties, texts and sub IDs of a statement of an erased partner that was issued before a year. Returns false
 * if there is none.
 */
export async function eraseOldStatement(trx: Db, beforeYear: number): Promise<boolean> {
	const statement = await trx
		.selectFrom("erasures")
		.innerJoin("statements", "statements.partner_id", "erasures.subject_id")
		.select(["statements.id", "statements.partner_id"])
		.select(["statements.first_entry_id as first", "statements.last_entry_id as last"])
		.where("erasures.kind", "=", "partner")
		.where("statements.year", "<", beforeYear)
		.where("statements.sealed_parties", "<>", "")
		.orderBy("statements.id")
		.limit(1)
		.executeTakeFirst();
	if (statement === undefined) return false;
	const { id, partner_id: partnerId, first, last } = statement;
	const contained = await trx
		.selectFrom("statement_entries")
		.select("entry_id as id")
		.where("partner_id", "=", partnerId)
		.where("entry_id", ">=", first ?? NO_ID)
		.where("entry_id", "<=", last ?? NO_ID)
		.where("statement_id", "=", id)
		.execute();
	const paid = await trx.selectFrom("entries").select("id").where("statement_id", "=", id).execute();
	const entries = [...contained, ...paid];
	for (let at = 0; at < entries.length; at += BATCH_ROWS) {
		await eraseEntries(trx, idsOf(entries.slice(at, at + BATCH_ROWS)));
	}
	await trx.updateTable("payments").set({ reference: "" }).where("statement_id", "=", id).execute();
	await trx.updateTable("statements").set({ sealed_parties: "" }).where("id", "=", id).execute();
	return true;
}
