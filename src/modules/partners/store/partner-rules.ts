// The rules of `ringback verify` about the events for partners, and about the rates of credits.

import { type Addition, after } from "#core/domain/addition.ts";
import { IS_FOR_PARTNER, type LedgerRule, RATES_ON_RECORD, rangesOf } from "#core/store/queries/ledger.ts";

export const PARTNER_RULES: readonly Addition<LedgerRule>[] = [
	after("events announce a move that their conversion never made", {
		problem: "events tell a partner about a sale that was never credited to it",
		...rangesOf("events"),
		where: `r.conversion_id is not null and ${IS_FOR_PARTNER} and not exists (select 1 from credits c
				join partnerships p on p.id = c.partnership_id join receivers s on s.partner_id = p.partner_id
				where c.conversion_id = r.conversion_id and s.id = r.receiver_id)
			and not exists (select 1 from moves m where m.conversion_id = r.conversion_id and m.move = 'credit')`,
	}),
	after("events tell a shop about a sale of another programme", {
		problem: "receivers have a URL for callbacks and no active secret to sign them",
		...rangesOf("receivers"),
		where: `r.kind = 'partner' and r.endpoint_id is not null and not exists (select 1 from signing_secrets s
			where s.receiver_id = r.id and s.activated_at_ms is not null and s.replaced_at_ms is null)`,
	}),
	after("conversions are charged at another network fee than the one that was recorded with them", {
		problem: "conversions are back with their first partner, at another commission than the recorded one",
		...rangesOf("conversions"),
		where: `r.first_commission is not null and r.rates not like r.first_commission || ' %' and exists (
			select 1 from credits c where c.conversion_id = r.id and c.partnership_id = r.first_partnership_id)`,
		since: RATES_ON_RECORD,
	}),
	after("programmes have other rates than the newest on record", {
		problem: "partnerships have another commission than the newest on record",
		...rangesOf("partnerships"),
		where: `not exists (select 1 from partnership_rates h where h.partnership_id = r.id
			and coalesce(h.commission_rate, '') = coalesce(r.commission_rate, '') and h.event_rates = r.event_rates
			and h.from_ms = (select max(from_ms) from partnership_rates n where n.partnership_id = r.id))`,
		since: RATES_ON_RECORD,
	}),
];
