// Exports everything that is stored about a partner, as a JSON file that people can read. Long lists are read while the file
// is written.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { readPartnerEvent } from "#core/domain/partner-event.ts";
import { isoTime, QUARTER_MS, utcDay } from "#core/domain/time.ts";
import { dayIn } from "#core/domain/zone-day.ts";
import { type CommandLine, type PersonActor, personIdOf, STAFF, transactAs } from "#core/people/actor.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { listPartnerPeopleIds } from "#core/store/queries/partner-people.ts";
import { findPartner } from "#core/store/queries/partners.ts";
import { findPersonById } from "#core/store/queries/people.ts";
import { findPartnerReceiver } from "#core/store/queries/receivers.ts";
import type { Db } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { listStatementLines, readStatements } from "#modules/accounts/store/statements.ts";
import { openParties } from "#modules/accounts/use-cases/parties.ts";
import { openDetails } from "#modules/accounts/use-cases/payment-details.ts";
import { listCodes } from "#modules/partners/store/coupon-codes.ts";
import { readAllCredited } from "#modules/partners/store/credited.ts";
import { listPartnerships } from "#modules/partners/store/partnerships.ts";
import { findTimeZone } from "#modules/partners/store/sale-news.ts";
import * as rows from "../store/personal-data.ts";
import type { PrivacyDeps } from "./deps.ts";
import { type Export, readEntries } from "./export-person.ts";
import { jsonFile, readable, type Section } from "./json-file.ts";

const BATCH_ROWS = 500;

const EXPLANATION = [
	"This file contains what the affiliate network stores about the partner named in it.",
	"Times are in UTC, and days of clicks are in the network's time zone. A value that is null is not stored.",
	"Sales are those that are credited to the partner. They have no order IDs, which belong to the shop.",
	"Callbacks, clicks by the day and answers to them are stored for a limited time.",
	"Entries of the audit log name nobody. They say whether it was the network's staff, another person, or the service itself.",
];

/** Exports the data of a partner, for staff or the command line. The export is in the audit log. */
export async function exportPartner(
	deps: PrivacyDeps,
	actor: PersonActor | CommandLine,
	publicId: string,
): Promise<Result<Export>> {
	const { store, clock } = deps;
	const nowMs = clock.nowMs();
	const found = await transactAs<Partner>(store, actor, STAFF, async (trx) => {
		const partner = await findPartner(trx, publicId);
		if (partner === undefined) return refuse("unknown_partner", `There is no partner ${publicId}.`);
		const note = { personId: personIdOf(actor), action: "partner.exported", subject: publicId } as const;
		await noteAudit(trx, note, nowMs);
		return succeed(partner);
	});
	if (!found.ok) return found;
	const partner = found.value;
	const sections = [...(await readFacts(deps, partner, nowMs)), ...(await readLists(deps, partner))];
	return succeed({ fileName: `${publicId}-${utcDay(nowMs)}.json`, parts: jsonFile(sections) });
}

/** Reads the short parts of the export. */
async function readFacts(deps: PrivacyDeps, partner: Partner, nowMs: number): Promise<Section[]> {
	const { db } = deps.store;
	const { id, public_id: publicId, created_at_ms, archived_at_ms, erased_at_ms, ...facts } = partner;
	const people = await Promise.all(
		(await listPartnerPeopleIds(db, id)).map((personId) => findPersonById(db, personId)),
	);
	const partnerships = await listPartnerships(db, "partner_id", [id]);
	const codes = await listCodes(
		db,
		partnerships.map((partnership) => partnership.id),
	);
	return [
		[
			"about",
			{ contents: `Data of the partner ${publicId}`, exportedAt: isoTime(nowMs), explanation: EXPLANATION },
		],
		["partner", { id: publicId, ...readable({ ...facts, created_at_ms, archived_at_ms, erased_at_ms }) }],
		[
			"people",
			people.flatMap((person) => (person === undefined ? [] : [{ name: person.name, email: person.email }])),
		],
		["invitedAddresses", (await rows.listInvitedAddresses(db, id)).map(readable)],
		["paymentDetails", (await openDetails(db, deps, [id])).get(id) ?? null],
		[
			"partnerships",
			partnerships.map((partnership) => ({
				id: partnership.public_id,
				programme: partnership.programme_name,
				commission: partnership.commission_rate,
				commissionsOfEventTypes: partnership.event_rates,
				terms: partnership.terms,
				...readable({
					created_at_ms: partnership.created_at_ms,
					ended_at_ms: partnership.ended_at_ms,
				}),
				couponCodes: codes
					.filter(({ partnership_id }) => partnership_id === partnership.id)
					.map(({ code }) => code),
			})),
		],
		["applications", (await rows.listApplicationsOf(db, { partnerId: id })).map(readable)],
		["apiTokens", (await rows.listTokensOf(db, { partnerId: id })).map(readable)],
		["apiReferences", (await rows.listReferences(db, id)).map(readable)],
	];
}

/** Returns the long parts of the file, which are read when they are written. */
async function readLists(deps: PrivacyDeps, partner: Partner): Promise<Section[]> {
	const { db, reader } = deps.store;
	const { id, public_id: publicId } = partner;
	const partnershipIds = [0, ...(await rows.listPartnershipIds(db, id)).map((partnership) => partnership.id)];
	const partnerships = await listPartnerships(db, "partner_id", [id]);
	const receiver = await findPartnerReceiver(db, id);
	const zone = await findTimeZone(db);
	const callbacks: Section[] =
		receiver === undefined
			? []
			: [
					["callbackUrls", (await rows.listEndpoints(db, receiver.receiver_id)).map(readable)],
					["signingSecrets", (await rows.listSecretFacts(db, receiver.receiver_id)).map(readable)],
					["noticesAboutCallbacks", (await rows.listNoticesOf(db, receiver.receiver_id)).map(readable)],
					["callbacks", readCallbacks(reader, receiver.receiver_id)],
				];
	return [
		["links", readableRows(rows.readLinks(reader, partnershipIds))],
		["clicksByDay", readClicksByDay(reader, partnershipIds, zone)],
		["sales", readableRows(readAllCredited(reader, { partnerships }, BATCH_ROWS))],
		["account", readableRows(rows.readAccount(reader, id))],
		["statements", readPartnerStatements(deps, id)],
		...callbacks,
		[
			"auditEntries",
			readEntries(reader, { subjects: [publicId, ...partnerships.map((each) => each.public_id)] }, null),
		],
	];
}

async function* readableRows(
	batches: AsyncIterable<readonly object[]>,
): AsyncGenerator<readonly Record<string, unknown>[]> {
	for await (const batch of batches) yield batch.map((row) => readable({ ...row }));
}

/** Adds up the clicks of each link by day and kind. */
async function* readClicksByDay(
	db: Db,
	partnershipIds: readonly number[],
	zone: string,
): AsyncGenerator<readonly unknown[]> {
	for await (const quarters of rows.readClicks(db, partnershipIds)) {
		const days = new Map<string, { link: string; day: string; kind: string; clicks: number }>();
		for (const { code: link, kind, quarter, clicks } of quarters) {
			const day = dayIn(quarter * QUARTER_MS, zone);
			const sum = days.get(`${kind} ${day}`)?.clicks ?? 0;
			days.set(`${kind} ${day}`, { link, day, kind, clicks: sum + clicks });
		}
		yield [...days.values()];
	}
}

async function* readPartnerStatements(
	deps: PrivacyDeps,
	partnerId: number,
): AsyncGenerator<readonly unknown[]> {
	const { db } = deps.store;
	for await (const batch of readStatements(db, { partnerId }, BATCH_ROWS)) {
		for (const statement of batch) {
			const lines = await listStatementLines(db, statement.id);
			const { number, month, currency, opening, earned, changed, adjusted, total } = statement;
			yield [
				{
					...{ id: statement.public_id, number, month, currency, opening, earned, changed, adjusted, total },
					isCarriedForward: statement.is_carried === 1,
					issuedAt: isoTime(statement.issued_at_ms),
					paidOn: statement.paid_on,
					paymentReference: statement.reference,
					parties: openParties(deps, statement),
					lines: lines.map(
						({ programme_name: programme, sales, earned: ofLine, changed: changedOfLine }) => ({
							...{ programme, sales, earned: ofLine, changed: changedOfLine },
						}),
					),
				},
			];
		}
	}
}

async function* readCallbacks(
	db: Db,
	receiverId: Parameters<typeof rows.readCallbacks>[1],
): AsyncGenerator<readonly unknown[]> {
	for await (const batch of rows.readCallbacks(db, receiverId)) {
		yield batch.map(({ public_id: id, name, body, state, created_at_ms, attempts }) => {
			const { sentAt: _, ...fields } = readPartnerEvent(name, body, created_at_ms);
			return { id, state, createdAt: isoTime(created_at_ms), fields, attempts: attempts.map(readable) };
		});
	}
}
