// The rules of `ringback verify` about the accounts of partners.

import { type LedgerRule, rangesOf } from "#core/store/queries/ledger.ts";

/** Number of statements that the check reads at once. Each may have thousands of entries. */
const STATEMENTS_AT_ONCE = 200;
/** Number of partners that the check reads at once. Each may have thousands of entries. */
const PARTNERS_AT_ONCE = 50;

/** Amount of the conversion `c` that is owed to a partner while it is approved. */
const OWED = `select ${minor("c.commission")} from conversions c join credits d on d.conversion_id = c.id
	join partnerships p on p.id = d.partnership_id where c.status = 'APPROVED' and c.test = 0`;

/** Invariants 9 to 11 of ARCHITECTURE.md: the accounts of partners, statements and payments. */
export const MONEY_RULES: readonly LedgerRule[] = [
	{
		problem: "conversions have entries that do not add up to the commission that is owed",
		...rangesOf("conversions"),
		where: `coalesce((select sum(${minor("e.amount")}) from entries e where e.conversion_id = r.id), 0)
			<> coalesce((${OWED} and c.id = r.id), 0)`,
	},
	{
		problem: "entries are in the account of a partner to whom their conversion does not owe their sum",
		...rangesOf("entries"),
		where: `r.conversion_id is not null and (select sum(${minor("e.amount")}) from entries e
				where e.conversion_id = r.conversion_id and e.partner_id = r.partner_id)
			<> coalesce((${OWED} and c.id = r.conversion_id and p.partner_id = r.partner_id), 0)`,
	},
	{
		problem: "entries belong to no partner, or to no conversion",
		...rangesOf("entries"),
		where: `not exists (select 1 from partners p where p.id = r.partner_id)
			or (r.kind in ('EARNED', 'CHANGED') and not exists (select 1 from conversions c where c.id = r.conversion_id))`,
	},
	{
		problem: "entries are neither open nor in a statement",
		...rangesOf("entries"),
		where: `r.kind <> 'PAID' and not exists (select 1 from open_entries o where o.partner_id = r.partner_id and o.entry_id = r.id)
			and not exists (select 1 from statement_entries s where s.partner_id = r.partner_id and s.entry_id = r.id)`,
	},
	{
		problem: "entries are open and in a statement",
		...entriesOfPartners("open_entries"),
		where:
			"exists (select 1 from statement_entries s where s.partner_id = r.partner_id and s.entry_id = r.entry_id)",
	},
	{
		problem: "open entries differ from their entry",
		...entriesOfPartners("open_entries"),
		where: `not exists (select 1 from entries e where e.id = r.entry_id and e.kind <> 'PAID'
			and e.partner_id = r.partner_id and coalesce(e.programme_id, 0) = coalesce(r.programme_id, 0)
			and e.kind = r.kind and e.amount = r.amount and e.currency = r.currency and e.at_ms = r.at_ms)`,
	},
	{
		problem: "entries of statements belong to another partner or currency",
		...entriesOfPartners("statement_entries"),
		where: `not exists (select 1 from entries e join statements s on s.id = r.statement_id
			where e.id = r.entry_id and e.kind <> 'PAID' and e.partner_id = r.partner_id and s.partner_id = r.partner_id
				and e.currency = s.currency and e.id between s.first_entry_id and s.last_entry_id)`,
	},
	{
		problem: "statements have amounts that are not those of their entries",
		...rangesOf("statements"),
		idsAtOnce: STATEMENTS_AT_ONCE,
		where: `not exists (select count(*) from statement_entries s join entries e on e.id = s.entry_id
			where s.partner_id = r.partner_id and s.entry_id between r.first_entry_id and r.last_entry_id
				and s.statement_id = r.id having ${["earned", "changed", "adjusted"]
					.map(
						(
							part,
						) => `coalesce(sum(case when e.kind = '${part.toUpperCase()}' then ${minor("e.amount")} end), 0)
						= ${minor(`r.${part}`)}`,
					)
					.join(" and ")})`,
	},
	{
		problem: "statements have lines that do not add up to their amounts",
		...rangesOf("statements"),
		where: ["earned", "changed"]
			.map(
				(part) => `coalesce((select sum(${minor(`l.${part}`)}) from statement_lines l
					where l.statement_id = r.id), 0) <> ${minor(`r.${part}`)}`,
			)
			.join(" or "),
	},
	{
		problem: "statements have another total than their opening balance and their amounts",
		...rangesOf("statements"),
		where: `${minor("r.total")} <> ${["opening", "earned", "changed", "adjusted"].map((part) => minor(`r.${part}`)).join(" + ")}
			or (r.is_carried = 0 and ${minor("r.total")} <= 0)`,
	},
	{
		problem: "statements do not start with what was carried forward to them",
		...rangesOf("statements"),
		where: `${minor("r.opening")} <> coalesce((select case when b.is_carried = 1 then ${minor("b.total")} else 0 end
			from statements b where b.partner_id = r.partner_id and b.currency = r.currency and b.id < r.id
			order by b.id desc limit 1), 0)`,
	},
	{
		problem: "statements have a number that was never given, or another than their position in the year",
		...rangesOf("statements"),
		where: `not exists (select 1 from statement_numbers n where n.year = r.year and r.seq between 1 and n.last)
			or r.number <> cast(r.year as text) || '-' || case when r.seq < 10 then '000' when r.seq < 100 then '00'
				when r.seq < 1000 then '0' else '' end || cast(r.seq as text)`,
	},
	{
		problem: "years have gaps in the numbers of their statements",
		...rangesOf("statement_numbers", "year"),
		where: "r.last <> (select count(*) from statements s where s.year = r.year)",
	},
	{
		problem: "payments do not have the entry that pays their statement",
		...rangesOf("payments", "statement_id"),
		where: `not exists (select 1 from entries e join statements s on s.id = r.statement_id
			where e.id = r.entry_id and e.kind = 'PAID' and e.statement_id = s.id and e.partner_id = s.partner_id
				and s.is_carried = 0 and ${minor("e.amount")} = -${minor("s.total")})`,
	},
	{
		problem: "statements are to be paid and are not listed so, or the other way round",
		...rangesOf("statements"),
		where: `(r.is_carried = 0 and not exists (select 1 from payments p where p.statement_id = r.id))
			<> exists (select 1 from unpaid_statements u where u.statement_id = r.id)`,
	},
	{
		problem: "entries of payments do not add up to the payment of their statement",
		...rangesOf("entries"),
		where: `r.kind = 'PAID' and (select sum(${minor("e.amount")}) from entries e where e.statement_id = r.statement_id)
			<> coalesce((select -${minor("s.total")} from statements s join payments p on p.statement_id = s.id
				where s.id = r.statement_id), 0)`,
	},
];

/** Returns SQL for an amount in minor units. Every amount has exactly the decimals of its currency. */
function minor(column: string): string {
	return `cast(replace(${column}, '.', '') as bigint)`;
}

/**
 * Returns the ranges of partners in which the check reads a table. The key of the table must begin with the
 * partner.
 */
function entriesOfPartners(
	table: "open_entries" | "statement_entries",
): Pick<LedgerRule, "table" | "key" | "from" | "idsAtOnce" | "shown"> {
	return { ...rangesOf(table, "partner_id"), idsAtOnce: PARTNERS_AT_ONCE, shown: "entry_id" };
}
