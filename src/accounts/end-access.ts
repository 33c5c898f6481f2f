// Ending somebody's access: called in the same transaction by every way to lose it. What a person could still do
// with a session, a link or half a sign-in ends with it, whoever made the link and whomever it was for.

import type { EndedAccess } from "../domain/ended-access.ts";
import { sayWithdrawn } from "../domain/ended-access.ts";
import { noteAudit } from "../store/audit.ts";
import { lockLinks, withdrawLinks } from "../store/links.ts";
import type { Person } from "../store/people.ts";
import { endChallenges, endSessions } from "../store/sign-in.ts";
import type { Db } from "../store/store.ts";

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
	for (const { email, purpose, programmeId: ofProgramme } of withdrawn) {
		const note = { personId: endedBy, programmeId: ofProgramme, action: "link.withdrawn" } as const;
		const detail = `${purpose.replace("_", " ")}: the access of ${person.email} ended`;
		await noteAudit(trx, { ...note, subject: email, detail }, nowMs);
	}
	const ended: EndedAccess = {
		sessions,
		challenges,
		links: withdrawn.map(({ purpose, email, programmeId: ofProgramme }) => ({
			kind: purpose.startsWith("password") ? "password link" : "invitation",
			email,
			programmeId: ofProgramme,
		})),
	};
	const detail = sayWithdrawn(ended);
	if (detail !== null) {
		const note = { personId: endedBy, programmeId, action: "access.ended" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail }, nowMs);
	}
	return ended;
}
