// History of rates, and the rates that belong to a sale, so that a later credit does not use the rates of the day on
// which it is made. docs/decisions/rates.md explains the design.

import type { Dialect } from "./dialect.ts";

export function ratesOnRecord(dialect: Dialect): readonly string[] {
	const { clustered, presentMs } = dialect;
	return [
		// `fee_rate` is the rate of the network fee. It is stored even while nobody is credited and no fee is charged.
		// The other two columns are the partnership that was credited first and its commission. They are null as long as
		// that partnership is credited.
		"alter table conversions add column fee_rate text",
		"alter table conversions add column first_partnership_id bigint",
		"alter table conversions add column first_commission text",

		// Partner to whom a move credits the conversion. The partner who loses the credit was stored already, so the
		// history now shows who had the conversion at which time.
		"alter table moves add column gained_partner_id bigint",

		// Each row is the rates of a programme from a time on, until the next row begins. The newest row has the present
		// rates.
		`create table programme_rates (
			programme_id bigint not null,
			from_ms bigint not null,
			commission_rate text not null,
			fee_rate text not null,
			event_rates text not null,
			primary key (programme_id, from_ms)
		) ${clustered}`,
		// Each row is the commission of a partnership from a time on, until the next row begins.
		`create table partnership_rates (
			partnership_id bigint not null,
			from_ms bigint not null,
			commission_rate text,
			event_rates text not null,
			primary key (partnership_id, from_ms)
		) ${clustered}`,
		// Rates before this migration are unknown, so the history begins with it.
		`insert into programme_rates (programme_id, from_ms, commission_rate, fee_rate, event_rates)
			select id, ${presentMs}, commission_rate, fee_rate, event_rates from programmes`,
		`insert into partnership_rates (partnership_id, from_ms, commission_rate, event_rates)
			select id, ${presentMs}, commission_rate, event_rates from partnerships`,
		...keepHistory(dialect, "programme", ["commission_rate", "fee_rate", "event_rates"]),
		...keepHistory(dialect, "partnership", ["commission_rate", "event_rates"]),
	];
}

/**
 * Returns triggers that write the history, so that no writer can forget to. A process of the previous version does
 * not know the history. If the writer has stored the new rates itself, as `storeProgrammeRates` does, the trigger
 * adds nothing. Otherwise the rates apply from the present time of the database.
 */
function keepHistory(
	{ kind, presentMs }: Dialect,
	subject: "programme" | "partnership",
	columns: readonly string[],
): string[] {
	const [table, history, id] = [`${subject}s`, `${subject}_rates`, `${subject}_id`];
	const insert = `insert into ${history} (${[id, "from_ms", ...columns].join(", ")})`;
	const present = columns.map((column) => `new.${column}`).join(", ");
	const newestMs = `(select max(from_ms) from ${history} where ${id} = new.id)`;
	const same = kind === "sqlite" ? "is" : "is not distinct from";
	const isKnown = `exists (select 1 from ${history} known where known.${id} = new.id and known.from_ms = ${newestMs}
		and ${columns.map((column) => `known.${column} ${same} new.${column}`).join(" and ")})`;
	const begin = `${insert} values (new.id, new.created_at_ms, ${present});`;
	const change = `${insert} values (new.id, ${kind === "sqlite" ? "max" : "greatest"}(${presentMs}, coalesce(${newestMs}, 0) + 1), ${present});`;
	if (kind === "sqlite") {
		return [
			`create trigger ${table}_begin_rates after insert on ${table} begin ${begin} end`,
			`create trigger ${table}_change_rates after update of ${columns.join(", ")} on ${table}
				when not ${isKnown} begin ${change} end`,
		];
	}
	return [
		`create function begin_${history}() returns trigger language plpgsql as $$ begin ${begin} return null; end $$`,
		`create trigger ${table}_begin_rates after insert on ${table}
			for each row execute function begin_${history}()`,
		`create function change_${history}() returns trigger language plpgsql as $$
			begin if not ${isKnown} then ${change} end if; return null; end $$`,
		`create trigger ${table}_change_rates after update of ${columns.join(", ")} on ${table}
			for each row execute function change_${history}()`,
	];
}
