// `ringback user create` and `ringback user link`: a person, and the one-time link with which they choose their
// password.

import { type Invited, renewInvitation } from "../accounts/invitations.ts";
import { issuePasswordLink } from "../accounts/password-link.ts";
import { createPerson, requirePersonByEmail } from "../accounts/people.ts";
import { hasPassword } from "../store/sign-in.ts";
import { type Command, EXIT, JSON_OPTION, type Screen, sayFault } from "./command.ts";
import { withWorkplace } from "./with-workplace.ts";

const EMAIL_OPTION = {
	type: "string",
	value: "ADDRESS",
	help: "the person's e-mail address",
	isRequired: true,
} as const;

export const userCreateCommand: Command = {
	name: "user create",
	summary:
		"Makes a person: an owner (of a shop's programmes) or staff (of the network). Prints the link with which they choose their password.",
	options: {
		email: EMAIL_OPTION,
		role: { type: "string", value: "owner|staff", help: "owner or staff", isRequired: true },
		json: JSON_OPTION,
	},
	run: (options, screen) =>
		withWorkplace(screen, async (workplace) => {
			const asJson = options.flag("json");
			const made = await createPerson(workplace, {
				email: options.text("email"),
				role: options.text("role"),
			});
			if (!made.ok) return sayFault(screen, made.fault, asJson);
			const invited = await renewInvitation(workplace, made.value, null);
			if (!invited.ok) return sayFault(screen, invited.fault, asJson);
			if (!asJson) screen.out(`Made ${made.value.role} ${made.value.email} (${made.value.public_id}).`);
			return sayLink(screen, invited.value, asJson);
		}),
};

export const userLinkCommand: Command = {
	name: "user link",
	summary:
		"Prints a new link with which a person chooses a password, for those who lost theirs. Earlier links of this kind stop working; using it ends their sessions and every other link.",
	options: { email: EMAIL_OPTION, json: JSON_OPTION },
	run: (options, screen) =>
		withWorkplace(screen, async (workplace) => {
			const asJson = options.flag("json");
			const person = await requirePersonByEmail(workplace, options.text("email"));
			if (!person.ok) return sayFault(screen, person.fault, asJson);
			const hasJoined = await hasPassword(workplace.store.db, person.value.public_id);
			const made = hasJoined
				? await issuePasswordLink(workplace, null, person.value, null)
				: await renewInvitation(workplace, person.value, null);
			return made.ok ? sayLink(screen, made.value, asJson) : sayFault(screen, made.fault, asJson);
		}),
};

function sayLink(
	screen: Screen,
	{ person, link, isMailed, isForPassword }: Invited,
	asJson: boolean,
): number {
	const { public_id: id, email, role } = person;
	if (asJson) screen.out(JSON.stringify({ id, email, role, link, isMailed }));
	else {
		screen.out(
			isForPassword === true
				? `The link to choose a new password, good once and for 24 hours. Hand it over yourself.${isMailed ? " A mail tells them that it was made." : ""}`
				: `The link to choose a password, good once and for seven days.${isMailed ? " It is being mailed, too." : ""}`,
		);
		screen.out(link ?? "");
	}
	return EXIT.ok;
}
