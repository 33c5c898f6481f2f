// `ringback hold` and `ringback release`: all callbacks wait, and go out again, while the service runs or before it starts.

import { succeed } from "../domain/fault.ts";
import { isoTime } from "../domain/time.ts";
import { changeHold } from "../programmes/callback-hold.ts";
import { type Command, workplaceCommand } from "./command.ts";

const SUMMARIES = {
	held: "Holds all callbacks, in every process within a second, until `ringback release`. Conversions and decisions are still accepted.",
	released: "Releases all callbacks that are held: what is due is sent at once, the rest when it falls due.",
} as const;

export const HOLD_COMMANDS: readonly Command[] = (["held", "released"] as const).map((to) =>
	workplaceCommand({
		name: to === "held" ? "hold" : "release",
		summary: SUMMARIES[to],
		options: {},
		async work(workplace) {
			const changed = await changeHold(workplace, null, to);
			if (!changed.ok) return changed;
			if (changed.value === null)
				return succeed({
					json: { changed: false },
					text: `Callbacks were ${to} already. Nothing was changed.`,
				});
			const { sinceMs, waiting, due } = changed.value;
			const said = {
				held: `All callbacks are held from now on: ${waiting} wait. \`ringback owed\` lists them, \`ringback release\` sends them.`,
				released: `Callbacks are sent again: ${due} are due now, and ${waiting - due} later.`,
			};
			const json = { changed: true, heldSince: isoTime(sinceMs), waiting, due };
			return succeed({ json, text: said[to] });
		},
	}),
);
