// `ringback user create`.

import { createPerson } from "../accounts/people.ts";
import { type Command, EXIT, JSON_OPTION, sayFault } from "./command.ts";
import { withWorkplace } from "./with-workplace.ts";

export const userCreateCommand: Command = {
	name: "user create",
	summary: "Makes a person: an owner (of a shop's programmes) or staff (of the network).",
	options: {
		email: { type: "string", value: "ADDRESS", help: "the person's e-mail address", isRequired: true },
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
			const { public_id: id, email, role } = made.value;
			if (asJson) screen.out(JSON.stringify({ id, email, role }));
			else screen.out(`Made ${role} ${email} (${id}).`);
			return EXIT.ok;
		}),
};
