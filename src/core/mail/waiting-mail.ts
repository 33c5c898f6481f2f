// Composes the weekly mail to the people of a programme who decide about its conversions.

import { quote } from "../domain/mail-text.ts";
import { minuteIn } from "../domain/zone-day.ts";
import type { Mail } from "../ports.ts";
import type { Programme } from "../store/queries/programmes.ts";
import type { WaitingSales } from "../store/queries/waiting.ts";

export function composeWaitingMail(
	programme: Pick<Programme, "name" | "public_id" | "currency">,
	{ count, basket, commission, firstEndsAtMs }: WaitingSales,
	zone: string,
	publicUrl: string,
): Omit<Mail, "to"> {
	const { public_id: publicId, currency } = programme;
	const name = quote(programme.name);
	const conversions = count === 1 ? "1 conversion waits" : `${count} conversions wait`;
	const next =
		firstEndsAtMs === null
			? "They are not approved automatically."
			: `The next automatic approval is on ${minuteIn(firstEndsAtMs, zone)}. Reject before that what must not be paid.`;
	return {
		subject: `${conversions} for your decision: ${name}`,
		text: [
			`In the programme ${name} (${publicId}), ${conversions} for a decision.`,
			`Baskets: ${basket} ${currency}. Commission: ${commission} ${currency}.`,
			next,
			"",
			"Decide about them:",
			`${publicUrl}/programmes/${publicId}/conversions?status=RECORDED`,
			"",
			"You get this mail on Mondays if conversions wait. Switch it off under:",
			`${publicUrl}/account#settings`,
		].join("\n"),
	};
}
