// Ending somebody's access: called in the same transaction by every way to lose it. What a person could still do
// with a session, a link, half a sign-in or a job under way ends with it, whoever made the link and whomever it was
// for.

import { noteAudit } from "../store/queries/audit.ts";
import { endJobsOf, type Job } from "../store/queries/jobs.ts";
import { lockLinks, type WithdrawnLink, withdrawLinks, withdrawLinksInto } from "../store/queries/links.ts";
import type { Person } from "../store/queries/people.ts";
import { endChallenges, endSessions } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import { PURPOSES } from "./links.ts";

export interface EndedLink {
	called: "invitation" | "password link" | "email confirmation";
	/** For whom it was. */
	email: string;
	/** The programme it belonged to; null for links of the network. */
	programmeId: number | null;
}

export interface EndedAccess {
	sessions: number;
	/** Sign-ins that waited for an authenticator's code. */
	challenges: number;
	links: readonly EndedLink[];
	/** Decisions and imports that they had applied, and are stopped. */
	jobs: number;
}

export interface AccessEnding {
	/** Who ends it; null: the command line. */
	endedBy: number | null;
	/** The programme it is about; null for the account as a whole. */
	programmeId?: number | null;
	nowMs: number;
	/** The caller lets one session go on under another token: it is not counted as ended. */
	keepsOneSession?: boolean;
}

/** Password and authenticator stay; the caller removes them where they have to go. */
export async function endAccess(
	trx: Db,
	person: Pick<Person, "id" | "public_id" | "email">,
	{ endedBy, programmeId = null, nowMs, keepsOneSession = false }: AccessEnding,
): Promise<EndedAccess> {
	await lockLinks(trx);
	const sessions = (await endSessions(trx, person.public_id)) - (keepsOneSession ? 1 : 0);
	const challenges = await endChallenges(trx, person.public_id);
	const withdrawn = await withdrawLinks(trx, person, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, `the access of ${person.email} ended`, nowMs);
	const jobs = await endJobsOf(trx, person.id, nowMs);
	await noteStopped(trx, jobs, endedBy, `the access of ${person.email} ended`, nowMs);
	const ended: EndedAccess = {
		sessions,
		challenges,
		links: describeLinks(withdrawn),
		jobs: jobs.length,
	};
	const detail = sayWhatEnded(ended);
	if (detail !== null) {
		const note = { personId: endedBy, programmeId, action: "access.ended" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail }, nowMs);
	}
	return ended;
}

/** For whoever stays in the programme with fewer rights: they stay signed in, their invitations and decisions end. */
export async function endRightsIn(
	trx: Db,
	person: Pick<Person, "id" | "email">,
	{ endedBy, programmeId, nowMs }: { endedBy: number; programmeId: number; nowMs: number },
): Promise<EndedAccess> {
	await lockLinks(trx);
	const withdrawn = await withdrawLinksInto(trx, programmeId, person.id, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, `${person.email} may no longer invite people`, nowMs);
	const jobs = await endJobsOf(trx, person.id, nowMs, programmeId);
	await noteStopped(trx, jobs, endedBy, `${person.email} may no longer decide`, nowMs);
	return { sessions: 0, challenges: 0, links: describeLinks(withdrawn), jobs: jobs.length };
}

async function noteWithdrawn(
	trx: Db,
	withdrawn: readonly WithdrawnLink[],
	endedBy: number | null,
	why: string,
	nowMs: number,
): Promise<void> {
	for (const { email, purpose, programmeId } of withdrawn) {
		const note = { personId: endedBy, programmeId, action: "link.withdrawn" } as const;
		await noteAudit(trx, { ...note, subject: email, detail: `${purpose.replace("_", " ")}: ${why}` }, nowMs);
	}
}

async function noteStopped(
	trx: Db,
	stopped: readonly Job[],
	endedBy: number | null,
	why: string,
	nowMs: number,
): Promise<void> {
	for (const { programme_id: programmeId, public_id, file_name } of stopped) {
		const about =
			programmeId === null
				? ({ action: "import.stopped", subject: file_name } as const)
				: ({ action: "decisions.stopped", subject: public_id } as const);
		await noteAudit(trx, { ...about, programmeId, personId: endedBy, detail: why }, nowMs);
	}
}

function describeLinks(withdrawn: readonly WithdrawnLink[]): EndedLink[] {
	return withdrawn.map(({ purpose, ...link }) => ({ ...link, called: PURPOSES[purpose].called }));
}

/** A message is one line on a phone's page: the rest is counted. */
const MAX_ADDRESSES_NAMED = 3;

/** Such as "2 sessions and 1 invitation to x@y.example were withdrawn, and 1 job was stopped"; null: nothing. */
export function sayWhatEnded(ended: EndedAccess): string | null {
	const parts = [
		...countedPart(ended.sessions, "session"),
		...countedPart(ended.challenges, "unfinished sign-in"),
		...linksOf(ended, "invitation", "to"),
		...linksOf(ended, "password link", "for"),
		...linksOf(ended, "email confirmation", "for"),
	];
	const total = ended.sessions + ended.challenges + ended.links.length;
	const said = [
		...(parts.length === 0 ? [] : [`${listOf(parts)} ${total === 1 ? "was" : "were"} withdrawn`]),
		...countedPart(ended.jobs, "job").map((text) => `${text} ${ended.jobs === 1 ? "was" : "were"} stopped`),
	];
	return said.length === 0 ? null : said.join(", and ");
}

/** For an owner, who is told about this programme alone: what else somebody did elsewhere is not theirs to know. */
export function withinProgramme(ended: EndedAccess, programmeId: number): EndedAccess {
	return { ...ended, links: ended.links.filter((link) => link.programmeId === programmeId) };
}

function linksOf({ links }: EndedAccess, called: EndedLink["called"], preposition: string): string[] {
	const emails = links.filter((link) => link.called === called).map(({ email }) => email);
	const named = [...new Set(emails)].slice(0, MAX_ADDRESSES_NAMED);
	const more = new Set(emails).size - named.length;
	const whom = more === 0 ? listOf(named) : `${named.join(", ")} and ${more} more`;
	return countedPart(emails.length, called).map((text) => `${text} ${preposition} ${whom}`);
}

function countedPart(count: number, noun: string): string[] {
	return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"}`];
}

function listOf(parts: readonly string[]): string {
	return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
