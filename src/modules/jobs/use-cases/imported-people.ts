// Decides whether a person whom a file names is mailed an invitation.

import { LIMITS, useLimits } from "#core/people/limits.ts";
import { hasPassword } from "#core/store/queries/passwords.ts";
import type { Person } from "#core/store/queries/people.ts";
import { hasOpenInvitation } from "#core/store/queries/sign-in-links.ts";
import type { Db } from "#core/store/store.ts";
import type { ApplyDeps } from "./kind.ts";

/**
 * Returns why the person gets no invitation mail, or null if they get one. `leadsTo` names what the person is added to,
 * which an open invitation also gives access to. The number of mails in an hour is limited for imports on a page, and not for the command line.
 */
export async function whyUninvited(
	trx: Db,
	deps: ApplyDeps,
	person: Person,
	leadsTo: "programme" | "partner",
): Promise<string | null> {
	if (await waitsWithLink(trx, deps, person)) {
		return `Added without a mail: they have an open invitation, which leads to this ${leadsTo} too.`;
	}
	const { personId, clock } = deps;
	if (personId === null) return null;
	const use = { limit: LIMITS.importedInvitations, subject: String(personId) };
	const tooMany = await useLimits(trx, [use], clock.nowMs());
	return tooMany === null ? null : `Added without a mail: ${tooMany.fault.detail}`;
}

/**
 * Returns whether the person has an open invitation, for example from an earlier line. A second invitation
 * would invalidate the link of the first.
 */
async function waitsWithLink(trx: Db, { clock }: ApplyDeps, { id }: Person): Promise<boolean> {
	return !(await hasPassword(trx, id)) && hasOpenInvitation(trx, id, clock.nowMs());
}

/** Sentence about people who were added without a mail, for the page of the job. */
export function sayUninvited(lines: string): string {
	return `${lines} added without a mail. The result file says who and why.`;
}
