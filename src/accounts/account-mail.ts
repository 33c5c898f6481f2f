// The words of the mails about accounts. Plain text: it must be readable in any client, on any phone.

import type { Mail } from "../ports.ts";

export interface InvitationMail {
	to: string;
	link: string;
	/** Null for the network's own staff. */
	programmeName: string | null;
	validDays: number;
}

export function composeInvitationMail({ to, link, programmeName, validDays }: InvitationMail): Mail {
	const what =
		programmeName === null
			? "You are invited to join the staff on Ringback."
			: `You are invited to look after the programme "${oneLine(programmeName)}" on Ringback.`;
	return {
		to: [to],
		subject:
			programmeName === null ? "Your account on Ringback" : `Your account for ${oneLine(programmeName)}`,
		text: [
			what,
			"",
			`Open this link to choose your password. It works once, and for ${days(validDays)}:`,
			link,
			"",
			"If you did not expect this mail, do nothing: without the link there is no account.",
		].join("\n"),
	};
}

/** From another owner, to whoever has the mailbox: the page behind the link knows whether they need a password. */
export function composeOwnerInvitationMail({ to, link, programmeName, validDays }: InvitationMail): Mail {
	const name = oneLine(programmeName ?? "");
	return {
		to: [to],
		subject: `Will you look after ${name}?`,
		text: [
			`An owner of the programme "${name}" asks you to look after it with them on Ringback.`,
			"",
			`Open this link to accept. It works once, and for ${days(validDays)}:`,
			link,
			"",
			"If you did not expect this mail, do nothing: nothing changes until you accept.",
		].join("\n"),
	};
}

/** For somebody who can sign in already: nothing to set up, only something new to see. */
export function composeAccessMail(to: string, programmeName: string, publicUrl: string): Mail {
	return {
		to: [to],
		subject: `You now have access to ${oneLine(programmeName)}`,
		text: [
			`The programme "${oneLine(programmeName)}" has been added to your account on Ringback.`,
			"",
			"Sign in as usual:",
			`${publicUrl}/sign-in`,
		].join("\n"),
	};
}

export function composeResetMail(to: string, link: string): Mail {
	return {
		to: [to],
		subject: "Choose a new password",
		text: [
			"Somebody, probably you, asked for a new password on Ringback.",
			"",
			"Open this link to choose one. It works once, and for one hour:",
			link,
			"",
			"If it was not you, do nothing: your password stays as it is.",
		].join("\n"),
	};
}

/** Without the link, which somebody hands over: whoever reads this mailbox is told, and let in nowhere. */
export function composePasswordLinkMail(to: string): Mail {
	return {
		to: [to],
		subject: "A link for a new password was made",
		text: [
			"The network's staff made a link with which a new password for your account on Ringback can be chosen.",
			"",
			"If you asked for it, they give it to you themselves: it is not in this mail.",
			"If you did not, tell them at once. Your password stays as it is until the link is used.",
		].join("\n"),
	};
}

/** The name came from a form: line breaks in a subject would be header injection. */
function oneLine(text: string): string {
	return text.replace(/[\r\n]+/g, " ");
}

function days(count: number): string {
	return count === 1 ? "one day" : `${count} days`;
}
