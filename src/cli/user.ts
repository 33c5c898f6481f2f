// `ringback user create` and `ringback user link`: a person, and the one-time link with which they choose their
// password.

import { renewLink, type SentLink } from "../accounts/invitations.ts";
import { createPerson, requirePersonByEmail } from "../accounts/people.ts";
import type { Person } from "../store/people.ts";
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
			const invited = await renewLink(workplace, null, made.value, null);
			if (!invited.ok) return sayFault(screen, invited.fault, asJson);
			if (!asJson) screen.out(`Made ${made.value.role} ${made.value.email} (${made.value.public_id}).`);
			return sayLink(screen, made.value, invited.value, asJson);
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
			const made = await renewLink(workplace, null, person.value, null);
			return made.ok
				? sayLink(screen, person.value, made.value, asJson)
				: sayFault(screen, made.fault, asJson);
		}),
};

function sayLink(
	screen: Screen,
	{ public_id: id, email, role }: Person,
	{ link, isMailed, isForPassword }: SentLink,
	asJson: boolean,
): number {
	if (asJson) screen.out(JSON.stringify({ id, email, role, link, isMailed }));
	else {
		screen.out(
			isForPassword
				? `The link to choose a new password, good once and for 24 hours. Hand it over yourself.${isMailed ? " A mail tells them that it was made." : ""}`
				: `The link to choose a password, good once and for seven days.${isMailed ? " It is being mailed, too." : ""}`,
		);
		screen.out(link ?? "");
	}
	return EXIT.ok;
}
