// Ending somebody's access: called in the same transaction by every way to lose it. What a person could still do
// with a session, a link, half a sign-in or an import under way ends with it, whoever made the link and whomever it was
// for.

import { type EndedAccess, type EndedLinkKind, sayWhatEnded } from "../domain/ended-access.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { endImportsOf, type ImportJob } from "../store/queries/import-jobs.ts";
import { lockLinks, type WithdrawnLink, withdrawLinks, withdrawLinksInto } from "../store/queries/links.ts";
import type { Person } from "../store/queries/people.ts";
import { endChallenges, endSessions } from "../store/queries/sign-in.ts";
import type { Db } from "../store/store.ts";
import type { LinkPurpose } from "../store/tables/people.ts";

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
	const imports = await endImportsOf(trx, person.id, nowMs);
	await noteStopped(trx, imports, endedBy, `the access of ${person.email} ended`, nowMs);
	const ended: EndedAccess = {
		sessions,
		challenges,
		links: describeLinks(withdrawn),
		imports: imports.length,
	};
	const detail = sayWhatEnded(ended);
	if (detail !== null) {
		const note = { personId: endedBy, programmeId, action: "access.ended" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail }, nowMs);
	}
	return ended;
}

/** For whoever stays in the programme and may no longer invite to it: they stay signed in, their invitations end. */
export async function endLinksInto(
	trx: Db,
	person: Pick<Person, "id" | "email">,
	{ endedBy, programmeId, nowMs }: { endedBy: number; programmeId: number; nowMs: number },
): Promise<EndedAccess> {
	await lockLinks(trx);
	const withdrawn = await withdrawLinksInto(trx, programmeId, person.id, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, `${person.email} may no longer invite people`, nowMs);
	return { sessions: 0, challenges: 0, links: describeLinks(withdrawn), imports: 0 };
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
	stopped: readonly Pick<ImportJob, "file_name">[],
	endedBy: number | null,
	why: string,
	nowMs: number,
): Promise<void> {
	for (const { file_name: subject } of stopped) {
		await noteAudit(trx, { personId: endedBy, action: "import.stopped", subject, detail: why }, nowMs);
	}
}

const LINK_KINDS: Readonly<Record<LinkPurpose, EndedLinkKind>> = {
	first_staff: "invitation",
	staff_invitation: "invitation",
	programme_invitation: "invitation",
	password_link: "password link",
	password_mail: "password link",
	address_mail: "email confirmation",
};

function describeLinks(withdrawn: readonly WithdrawnLink[]): EndedAccess["links"] {
	return withdrawn.map(({ purpose, email, programmeId }) => ({
		kind: LINK_KINDS[purpose],
		email,
		programmeId,
	}));
}
