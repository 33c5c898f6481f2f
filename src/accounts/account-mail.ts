// The words of the mails that somebody asked for: invitations, and links for a new password. Plain text: it must be
// readable in any client, on any phone. What strangers chose is quoted; the dispatcher adds which network it is from.

import { quote } from "../domain/mail-text.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
import type { Role } from "../store/tables/people.ts";
import type { AccountMail } from "./mail-dispatcher.ts";

/** For what holds no link: older than this it is no news. */
const NEWS_DAYS = 2;

export interface InvitationMail {
	to: string;
	link: string;
	programmeName: string;
	validDays: number;
}

export function composeInvitationMail(
	invitation: Omit<InvitationMail, "programmeName"> & { role: Role; programmeName: string | null },
): AccountMail {
	const { to, link, role, programmeName, validDays } = invitation;
	const name = programmeName === null ? null : quote(programmeName);
	const [what, where] =
		role === "staff"
			? ["join the staff", "join the network's staff"]
			: name === null
				? ["manage a programme", "manage a programme"]
				: [`manage ${name}`, `manage the programme ${name}`];
	return {
		to,
		subject: `You're invited to ${what}`,
		text: [
			`You are invited to ${where} on Ringback.`,
			...openLink("to choose your password", link, days(validDays)),
			"If you did not expect this mail, do nothing: without the link there is no account.",
		].join("\n"),
		goodForMs: validDays * DAY_MS,
	};
}

/** From another owner, to whoever has the mailbox: the page behind the link knows whether they need a password. */
export function composeOwnerInvitationMail(invitation: InvitationMail): AccountMail {
	const { to, link, programmeName, validDays } = invitation;
	const name = quote(programmeName);
	return {
		to,
		subject: `You're invited to manage ${name}`,
		text: [
			`An owner of the programme ${name} invites you to manage it with them on Ringback.`,
			...openLink("to accept", link, days(validDays)),
			"If you did not expect this mail, do nothing: nothing changes until you accept.",
		].join("\n"),
		goodForMs: validDays * DAY_MS,
	};
}

/** For somebody who can sign in already: nothing to set up, only something new to see. */
export function composeAccessMail(to: string, programmeName: string, publicUrl: string): AccountMail {
	const name = quote(programmeName);
	return {
		to,
		subject: `You now have access to ${name}`,
		text: `The programme ${name} has been added to your account on Ringback.\n\nSign in as usual:\n${publicUrl}/sign-in`,
		goodForMs: NEWS_DAYS * DAY_MS,
	};
}

export function composeResetMail(to: string, link: string): AccountMail {
	return {
		to,
		subject: "Choose a new password",
		text: [
			"Somebody, probably you, asked for a new password on Ringback.",
			...openLink("to choose one", link, "one hour"),
			"If it was not you, do nothing: your password stays as it is.",
		].join("\n"),
		goodForMs: HOUR_MS,
	};
}

function openLink(what: string, link: string, howLong: string): string[] {
	return ["", `Open this link ${what}. It works once, and for ${howLong}:`, link, ""];
}

function days(count: number): string {
	return count === 1 ? "one day" : `${count} days`;
}
