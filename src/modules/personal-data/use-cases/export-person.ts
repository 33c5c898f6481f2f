// Exports everything that is stored about a person, as a JSON file that people can read.

import { type Result, refuse, succeed } from "#core/domain/fault.ts";
import { openMail } from "#core/domain/sealing.ts";
import { isoTime, utcDay } from "#core/domain/time.ts";
import { type CommandLine, type PersonActor, personIdOf, SIGNED_IN, transactAs } from "#core/people/actor.ts";
import { noteAudit } from "#core/store/queries/audit.ts";
import { listPartnersOf } from "#core/store/queries/partner-people.ts";
import { findPersonByPublicId, type Person } from "#core/store/queries/people.ts";
import { listRolesOf } from "#core/store/queries/programme-people.ts";
import { listSessions } from "#core/store/queries/sessions.ts";
import type { Db } from "#core/store/store.ts";
import * as rows from "../store/personal-data.ts";
import type { PrivacyDeps } from "./deps.ts";
import { findWordsOfPerson } from "./erased-words.ts";
import { jsonFile, readable, type Section } from "./json-file.ts";

export interface Export {
	fileName: string;
	/** The parts of the file. A part is read from the database when the reader asks for it. */
	parts: AsyncGenerator<string>;
}

const EXPLANATION = [
	"This file contains what the affiliate network stores about the person named in it.",
	"Times are in UTC. A value that is null is not stored.",
	"The password is stored as a hash, and the authenticator's secret is encrypted. Neither is part of this file.",
	"The text of a mail is stored until the mail is sent. Mails that may contain a link to sign in are listed without it.",
	"Entries of the audit log say who acted only if it was the person. Otherwise they say whether it was the network's staff, another person, or the service itself.",
	"Decisions, payments and files that the person dealt with belong to the shop or the network. They are listed in the audit log.",
];

/** Exports the data of a person, for staff, the command line or the person. The export is in the audit log. */
export async function exportPerson(
	deps: PrivacyDeps,
	actor: PersonActor | CommandLine,
	publicId: string,
): Promise<Result<Export>> {
	const { store, clock } = deps;
	const nowMs = clock.nowMs();
	const found = await transactAs<Person>(store, actor, SIGNED_IN, async (trx) => {
		const person = await findPersonByPublicId(trx, publicId);
		if (person === undefined) return refuse("unknown_person", `There is no person ${publicId}.`);
		if (actor.kind === "shop" && person.id !== actor.personId) {
			return refuse("not_allowed", "You can download only your own data.");
		}
		const note = { personId: personIdOf(actor), action: "person.exported", subject: publicId } as const;
		await noteAudit(trx, note, nowMs);
		return succeed(person);
	});
	if (!found.ok) return found;
	const sections = await readSections(deps, found.value, nowMs);
	return succeed({ fileName: `${publicId}-${utcDay(nowMs)}.json`, parts: jsonFile(sections) });
}

async function readSections(deps: PrivacyDeps, person: Person, nowMs: number): Promise<Section[]> {
	const { db, reader } = deps.store;
	const { id, public_id: publicId, email, name, kind, zone, locale } = person;
	const { emails } = await findWordsOfPerson(db, person);
	const { passwordChangedAtMs, authenticatorOnAtMs } = await rows.findAccountFacts(db, id);
	const mails = await rows.listMailsTo(db, emails);
	const links = await rows.listLinksOf(db, id, emails);
	return [
		[
			"about",
			{ contents: `Data of the person ${publicId}`, exportedAt: isoTime(nowMs), explanation: EXPLANATION },
		],
		[
			"account",
			{
				...{ id: publicId, name, email, otherEmails: emails.filter((other) => other !== email) },
				...{ isStaff: kind === "staff", timeZone: zone, language: locale },
				mails: {
					callbacksFailing: person.mails_callbacks_failing === 1,
					callbacksWorkingAgain: person.mails_callbacks_working_again === 1,
					decisionsWaiting: person.mails_decisions_waiting === 1,
					sales: person.mails_sales,
				},
				...readable({
					created_at_ms: person.created_at_ms,
					deactivated_at_ms: person.deactivated_at_ms,
					erased_at_ms: person.erased_at_ms,
					password_changed_at_ms: passwordChangedAtMs,
					authenticator_on_at_ms: authenticatorOnAtMs,
				}),
			},
		],
		[
			"programmes",
			(await listRolesOf(db, id)).map((role) => ({ id: role.publicId, name: role.name, role: role.role })),
		],
		[
			"partners",
			(await listPartnersOf(db, id)).map((partner) => ({ id: partner.public_id, name: partner.name })),
		],
		[
			"sessions",
			(await listSessions(db, id)).map((session) => ({
				signedInAt: isoTime(session.createdAtMs),
				lastUsedAt: isoTime(session.lastUsedAtMs),
				expiresAt: isoTime(session.expiresAtMs),
				address: session.address,
				browser: session.userAgent,
			})),
		],
		[
			"linksToSignIn",
			links.map(({ purpose, person_id, email: to, created_at_ms, expires_at_ms, withdrawn }) => ({
				purpose,
				isForThisPerson: person_id === id || emails.includes(to ?? ""),
				...readable({ created_at_ms, expires_at_ms }),
				isWithdrawn: withdrawn !== null,
			})),
		],
		["applications", (await rows.listApplicationsOf(db, { emails })).map(readable)],
		["apiKeysIssued", (await rows.listKeysOf(db, id)).map(readable)],
		["apiTokensIssued", (await rows.listTokensOf(db, { personId: id })).map(readable)],
		["filesUploaded", (await rows.listFilesOf(db, id)).map(readable)],
		[
			"mails",
			mails.map(({ to_address: to, topic, sealed_text, ...mail }) => {
				// A mail without a topic was requested, and may contain a link to sign in. Staff who export somebody's data must
				// not be able to sign in as that person. The text of a mail that was sent is not stored.
				const text = topic === null || sealed_text === null ? null : openMail(deps.keyRing, to, sealed_text);
				return { to, ...readable(mail), text };
			}),
		],
		["auditEntriesByThePerson", readEntries(reader, { personId: id }, id)],
		["auditEntriesAboutThePerson", readEntries(reader, { subjects: [...emails, publicId] }, id)],
	];
}

/** Yields audit entries. `selfId` is the person whose name the export may contain, or null for nobody. */
export async function* readEntries(
	db: Db,
	by: Parameters<typeof rows.readAuditOf>[1],
	selfId: number | null,
): AsyncGenerator<readonly Record<string, unknown>[]> {
	for await (const batch of rows.readAuditOf(db, by)) {
		yield batch.map(({ person_id: personId, kind, at_ms, action, programme, subject, detail, address }) => {
			const isSelf = personId !== null && personId === selfId;
			const other = kind === "staff" ? "the network's staff" : "another person";
			const who = personId === null ? "the service itself" : isSelf ? "the person" : other;
			return {
				...{ at: isoTime(at_ms), who, action, programme, subject, detail },
				address: isSelf ? address : null,
			};
		});
	}
}
