// The words of the mails that somebody asked for: invitations, links for a new password or address, a test. Plain text: it
// must be readable in any client, on any phone. What strangers chose is quoted; network-mailer adds who sends it.

import { quote } from "../domain/mail-text.ts";
import { type PersonKind, type ProgrammeRole, ROLE_SUMMARIES } from "../domain/roles.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { Mail } from "../ports.ts";
import type { Partner } from "../store/queries/partners.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { WrittenMail } from "./dispatcher.ts";

/** For what holds no link: older than this it is no news. */
const NEWS_MS = 2 * DAY_MS;

/** Where somebody is invited to, or has come to: a programme, or a partner, by way of an application or not. */
type Membership =
	| { programme: Pick<Programme, "name">; role: ProgrammeRole }
	| { partner: Pick<Partner, "name">; accepted?: Pick<Programme, "name"> | undefined };

/** Long enough for a holiday weekend, short enough for a mailbox that somebody else reads later. */
export const INVITATION_DAYS = 7;

/**
 * From staff, or the command line, where the account is there and waits for a password. Or from an owner, to whoever has
 * the mailbox: the page behind the link knows whether they need one.
 */
export function composeInvitationMail(
	to: string,
	link: string,
	{ kind, membership, isByOwner }: { kind: PersonKind; membership: Membership | null; isByOwner: boolean },
): WrittenMail {
	const what = kind === "staff" ? "join the network's staff" : "manage a programme";
	const { subject, lines } =
		membership === null
			? { subject: `You're invited to ${what}`, lines: [`You are invited to ${what}.`] }
			: inviteTo(membership);
	const otherwise = isByOwner
		? "nothing changes unless you accept"
		: "nothing happens unless you open the link";
	return letter(to, subject, INVITATION_DAYS * DAY_MS, [
		...lines,
		...openLink(isByOwner ? "to accept" : "to choose your password", link, `${INVITATION_DAYS} days`),
		`If you did not expect this mail, ignore it: ${otherwise}.`,
	]);
}

/** For somebody who can sign in already: nothing to set up, only something new to see. */
export function composeAccessMail(to: string, membership: Membership, publicUrl: string): WrittenMail {
	const { subject, lines } = inviteTo(membership, true);
	return letter(to, subject, NEWS_MS, [
		...lines,
		`\nSign in as usual:\n${publicUrl}/sign-in\n`,
		"If you did not expect this mail, ask the network's staff.",
	]);
}

/** Who is invited to look on is not told that they are to manage it. */
function inviteTo(membership: Membership, isThere = false): { subject: string; lines: string[] } {
	if ("role" in membership) {
		const { programme, role } = membership;
		const name = quote(programme.name);
		if (isThere) {
			const added = `The programme ${name} has been added to your account.`;
			return { subject: `You now have access to ${name}`, lines: [added, sayRole(role)] };
		}
		const to = role === "owner" ? `manage ${name}` : `${name} as a ${role}`;
		return {
			subject: `You're invited to ${to}`,
			lines: [`You are invited to the programme ${name}.`, sayRole(role)],
		};
	}
	const name = quote(membership.partner.name);
	const programme = membership.accepted && quote(membership.accepted.name);
	const what = programme
		? `Your application to the programme ${programme} was accepted. You sign in for the partner ${name}.`
		: `You are invited to sign in for the partner ${name}.`;
	return {
		subject: programme
			? `Your application as a partner was accepted: ${programme}`
			: `You're invited as a partner: ${name}`,
		lines: [`${what} There you make links, and see what they bring and earn.`],
	};
}

function sayRole(role: ProgrammeRole): string {
	return `Your role: ${role}. This role ${ROLE_SUMMARIES[role]}.`;
}

export function composeResetMail(to: string, link: string): WrittenMail {
	return letter(to, "Choose a new password", HOUR_MS, [
		"A new password was requested for your account, probably by you.",
		...openLink("to choose one", link, "one hour"),
		"If it was not you, ignore this mail: your password stays as it is.",
	]);
}

/** To the new address: whoever opens the link has its mailbox. */
export function composeAddressMail(to: string, before: string, link: string): WrittenMail {
	return letter(to, "Confirm your new email address", HOUR_MS, [
		`This address was entered as the new one of the account ${quote(before)}, probably by you.`,
		...openLink("to confirm", link, "one hour"),
		"If it was not you, ignore this mail: nothing changes.",
	]);
}

/** To the address that the account had. */
export function composeLeftAddressMail(to: string, after: string): WrittenMail {
	return letter(to, "Your email address was changed", NEWS_MS, [
		`Your account now has the email address ${quote(after)}. Mails go there, and you sign in with it.`,
		"",
		"If it was you, there is nothing to do. If it was not, tell the network's staff at once: they can end all sessions and create a link for a new password.",
	]);
}

/** To whoever sends it, to see whether mail works and how it looks. */
export function composeTestMail(to: string): Mail {
	const text =
		"This is a test mail. If you can read it, mail works: invitations, password links and notices about failing callbacks arrive, too.";
	return { to, subject: "Test mail", text };
}

function letter(to: string, subject: string, goodForMs: number, lines: readonly string[]): WrittenMail {
	return { to, subject, text: lines.join("\n"), goodForMs };
}

function openLink(what: string, link: string, howLong: string): string[] {
	return ["", `Open this link ${what}. It works once, and for ${howLong}:`, link, ""];
}
