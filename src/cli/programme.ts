// `ringback programme create`.

import { openProgramme } from "../accounts/open-programme.ts";
import { type Command, EXIT, JSON_OPTION, sayFault } from "./command.ts";
import { withWorkplace } from "./with-workplace.ts";

export const programmeCreateCommand: Command = {
	name: "programme create",
	summary: "Makes a shop's programme: its currency, its rates and its approval window.",
	options: {
		name: { type: "string", value: "NAME", help: "the programme's name", isRequired: true },
		owner: {
			type: "string",
			value: "ADDRESS",
			help: "e-mail of an owner made with `user create`",
			isRequired: true,
		},
		currency: { type: "string", value: "CODE", help: "ISO 4217 code such as EUR", isRequired: true },
		commission: {
			type: "string",
			value: "PERCENT",
			help: "commission, percent of the basket",
			isRequired: true,
		},
		fee: { type: "string", value: "PERCENT", help: "network fee, percent of the basket", isRequired: true },
		"approval-days": {
			type: "string",
			value: "DAYS",
			help: "days until a conversion approves itself",
			isRequired: true,
		},
		"no-parking": {
			type: "boolean",
			help: "record pixel conversions at once, without the shop's confirmation; anyone can call the pixel",
		},
		json: JSON_OPTION,
	},
	run: (options, screen) =>
		withWorkplace(screen, async (workplace) => {
			const asJson = options.flag("json");
			const days = options.text("approval-days");
			const opened = await openProgramme(workplace, null, {
				name: options.text("name"),
				ownerEmail: options.text("owner"),
				currency: options.text("currency"),
				commissionRate: options.text("commission"),
				feeRate: options.text("fee"),
				approvalDays: /^\d+$/.test(days) ? Number(days) : Number.NaN,
				parksPixels: !options.flag("no-parking"),
			});
			if (!opened.ok) return sayFault(screen, opened.fault, asJson);
			const { public_id: id, name } = opened.value.programme;
			if (asJson) screen.out(JSON.stringify({ id, name }));
			else screen.out(`Made programme ${name}: ${id}\nNext: npx ringback key issue --programme ${id}`);
			return EXIT.ok;
		}),
};
