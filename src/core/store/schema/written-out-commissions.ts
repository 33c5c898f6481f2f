// Migration that keeps what partners earn when the meaning of their commission changes. Until version 1, a
// partnership's general commission also replaced the programme's commissions for event types. From then on it
// replaces only the programme's general commission, so that a partner with a percentage still gets the programme's
// fixed amount for a lead. An upgrade must not change what anybody earns, so the general commission is also stored as
// a commission for each event type that the programme names. The audit log has an entry for each such partnership,
// because staff may want the programme's commission there.

import { EVENT_TYPES } from "../../domain/conversion.ts";
import type { Dialect } from "./dialect.ts";

export function writtenOutCommissions({ presentMs }: Dialect): readonly string[] {
	return [
		`insert into audit_entries (at_ms, person_id, programme_id, action, subject, detail)
			select ${presentMs}, null, own.programme_id, 'partnership.changed', own.public_id,
				partner.name || '; the upgrade wrote its commission out for event types for which the programme has another one. ' ||
				'The partner earns the same as before. Remove a line to give it the programme''s commission for that event type'
			from partnerships own join programmes programme on programme.id = own.programme_id
				join partners partner on partner.id = own.partner_id
			where own.commission_rate is not null and (${EVENT_TYPES.map((type) => `(${isReplaced(type)})`).join(" or ")})
			order by own.id`,
		...EVENT_TYPES.map(
			(type) => `update partnerships as own
				set event_rates = own.event_rates || case when own.event_rates = '' then '' else ';' end || '${type}=' || own.commission_rate
				where own.commission_rate is not null and exists (
					select 1 from programmes programme where programme.id = own.programme_id and ${isReplaced(type)})`,
		),
	];
}

/** SQL condition that the programme has a commission for the event type, and the partnership `own` has none. */
function isReplaced(type: string): string {
	return `';' || programme.event_rates like '%;${type}=%' and ';' || own.event_rates not like '%;${type}=%'`;
}
