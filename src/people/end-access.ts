// Ending somebody's access: called in the same transaction by every way to lose it. What a person could still do
// with a session, a link, half a sign-in or a job under way ends with it, whoever made the link and whomever it was
// for.

import { noteAudit } from "../store/queries/audit.ts";
import { endJobsOf, type Job } from "../store/queries/jobs.ts";
import { lockLinks, type WithdrawnLink, withdrawLinks, withdrawLinksInto } from "../store/queries/links.ts";
import type { Person } from "../store/queries/people.ts";
import { endChallenges, endSessions } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";

/** How many of each. Whose links they were is on record, with an entry for each. */
export interface EndedAccess {
	sessions: number;
	/** Of the programme alone where it is about one: what somebody did elsewhere is not its owners' to know. */
	links: number;
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
	// Sign-ins that wait for an authenticator's code.
	await endChallenges(trx, person.public_id);
	const why = `the access of ${person.email} ended`;
	const withdrawn = await withdrawLinks(trx, person, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, why, nowMs);
	const jobs = await endJobsOf(trx, person.id, nowMs);
	await noteStopped(trx, jobs, endedBy, why, nowMs);
	const told = withdrawn.filter((link) => programmeId === null || link.programmeId === programmeId);
	const ended = { sessions, links: told.length, jobs: jobs.length };
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
	return { sessions: 0, links: withdrawn.length, jobs: jobs.length };
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

/** Such as "2 sessions and 1 link were ended, and 1 job was stopped"; null: nothing. */
export function sayWhatEnded({ sessions, links, jobs }: EndedAccess): string | null {
	const ended = [count(sessions, "session"), count(links, "link")].filter((text) => text !== null);
	const parts = [
		ended.length === 0 ? null : `${ended.join(" and ")} ${sessions + links === 1 ? "was" : "were"} ended`,
		jobs === 0 ? null : `${count(jobs, "job")} ${jobs === 1 ? "was" : "were"} stopped`,
	].filter((text) => text !== null);
	return parts.length === 0 ? null : parts.join(", and ");
}

function count(number: number, noun: string): string | null {
	return number === 0 ? null : `${number} ${noun}${number === 1 ? "" : "s"}`;
}
