// The words of the mails that somebody asked for: invitations, and links for a new password. Plain text: it must be
// readable in any client, on any phone. What strangers chose is quoted; the dispatcher adds which network it is from.

import { quote } from "../domain/mail-text.ts";
import { type PersonKind, type ProgrammeRole, ROLE_SUMMARIES } from "../domain/roles.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { Membership } from "./links.ts";
import type { AccountMail } from "./mail-dispatcher.ts";

/** For what holds no link: older than this it is no news. */
const NEWS_DAYS = 2;

interface InvitationMail {
	to: string;
	link: string;
	validDays: number;
}

/** From staff, or the command line: the account is there, and waits for a password. */
export function composeJoinMail(
	invitation: InvitationMail & { kind: PersonKind; membership: Membership | null },
): AccountMail {
	const { to, link, kind, membership, validDays } = invitation;
	const { subject, lines } = membership === null ? inviteTo(kind) : inviteToProgramme(membership);
	return {
		to,
		subject,
		text: [
			...lines,
			...openLink("to choose your password", link, days(validDays)),
			"If you did not expect this mail, ignore it: nothing happens unless you open the link.",
		].join("\n"),
		goodForMs: validDays * DAY_MS,
	};
}

/** From an owner, to whoever has the mailbox: the page behind the link knows whether they need a password. */
export function composeProgrammeInvitationMail(
	invitation: InvitationMail & { membership: Membership },
): AccountMail {
	const { to, link, membership, validDays } = invitation;
	const { subject, lines } = inviteToProgramme(membership);
	return {
		to,
		subject,
		text: [
			...lines,
			...openLink("to accept", link, days(validDays)),
			"If you did not expect this mail, ignore it: nothing changes unless you accept.",
		].join("\n"),
		goodForMs: validDays * DAY_MS,
	};
}

/** For somebody who can sign in already: nothing to set up, only something new to see. */
export function composeAccessMail(
	to: string,
	{ programme, role }: Membership,
	publicUrl: string,
): AccountMail {
	const name = quote(programme.name);
	return {
		to,
		subject: `You now have access to ${name}`,
		text: [
			`The programme ${name} has been added to your account.`,
			sayRole(role),
			`\nSign in as usual:\n${publicUrl}/sign-in`,
		].join("\n"),
		goodForMs: NEWS_DAYS * DAY_MS,
	};
}

function inviteTo(kind: PersonKind): { subject: string; lines: string[] } {
	const what = kind === "staff" ? "join the network's staff" : "manage a programme";
	return { subject: `You're invited to ${what}`, lines: [`You are invited to ${what}.`] };
}

/** Who is invited to look on is not told that they are to manage it. */
function inviteToProgramme({ programme, role }: Membership): { subject: string; lines: string[] } {
	const name = quote(programme.name);
	return {
		subject: role === "owner" ? `You're invited to manage ${name}` : `You're invited to ${name} as a ${role}`,
		lines: [`You are invited to the programme ${name}.`, sayRole(role)],
	};
}

function sayRole(role: ProgrammeRole): string {
	return `Your role: ${role}. This role ${ROLE_SUMMARIES[role]}.`;
}

export function composeResetMail(to: string, link: string): AccountMail {
	return {
		to,
		subject: "Choose a new password",
		text: [
			"Somebody, probably you, asked for a new password for your account.",
			...openLink("to choose one", link, "one hour"),
			"If it was not you, ignore this mail: your password stays as it is.",
		].join("\n"),
		goodForMs: HOUR_MS,
	};
}

/** To the new address: whoever opens the link has its mailbox. */
export function composeAddressMail(to: string, before: string, link: string): AccountMail {
	return {
		to,
		subject: "Confirm your new email address",
		text: [
			`Somebody, probably you, wants to use this address for the account of ${quote(before)}.`,
			...openLink("to confirm", link, "one hour"),
			"If it was not you, ignore this mail: nothing changes.",
		].join("\n"),
		goodForMs: HOUR_MS,
	};
}

/** To the address that the account had. */
export function composeLeftAddressMail(to: string, after: string): AccountMail {
	return {
		to,
		subject: "Your email address was changed",
		text: [
			`Your account now has the email address ${quote(after)}. Mails go there, and you sign in with it.`,
			"",
			"If it was you, there is nothing to do. If it was not, tell the network's staff at once: they can end all sessions and create a link for a new password.",
		].join("\n"),
		goodForMs: NEWS_DAYS * DAY_MS,
	};
}

function openLink(what: string, link: string, howLong: string): string[] {
	return ["", `Open this link ${what}. It works once, and for ${howLong}:`, link, ""];
}

function days(count: number): string {
	return count === 1 ? "one day" : `${count} days`;
}
