// Storing results on PostgreSQL: one statement for all attempts of a pass, one each for what was given back and what
// was cancelled.

import { hotStatement } from "./hot-statement.ts";
import { columnLiteral } from "./postgres-array.ts";
import { newDueAtMs, type Settlement } from "./queue.ts";
import type { Db } from "./store.ts";

type Attempted = Extract<Settlement, { kind: "finished" | "retry" }>;
type Released = Extract<Settlement, { kind: "released" }>;
type Cancelled = Extract<Settlement, { kind: "cancelled" }>;

// Whatever is not in the queue as it was handed out drops out at `kept`, and is not touched further on.
const SETTLE_ATTEMPTED = hotStatement<{ id: number }>(`
	with result as (
		select * from unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::text[], $7::bigint[],
			$8::bigint[], $9::text[], $10::text[], $11::int[], $12::text[], $13::bigint[], $14::float8[], $15::float8[],
			$16::float8[], $17::float8[], $18::float8[], $19::bigint[], $20::text[], $21::text[], $22::bigint[],
			$23::text[])
			as r(id, old_due_at_ms, seq, run, counted, state, due_at_ms, finished_at_ms, verdict, result, http_status,
				detail, started_at_ms, took_ms, look_up_ms, connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature,
				programme_id, answer)
	), taken as (
		delete from queue q using result r
			where q.id = r.id and q.due_at_ms = r.old_due_at_ms and r.due_at_ms is null
			returning q.id
	), put_back as (
		update queue q set due_at_ms = r.due_at_ms, counted = r.counted, seq = r.seq from result r
			where q.id = r.id and q.due_at_ms = r.old_due_at_ms and r.due_at_ms is not null
			returning q.id
	), kept as (
		select id from taken union all select id from put_back
	), noted as (
		update deliveries d set state = r.state, attempts = r.seq, last_verdict = r.verdict,
			last_http_status = coalesce(r.http_status, d.last_http_status), last_attempt_at_ms = r.started_at_ms,
			finished_at_ms = r.finished_at_ms,
			failed_at_ms = case r.state when 'failed' then r.finished_at_ms end
			from result r join kept using (id) where d.id = r.id
	), logged as (
		insert into attempts (delivery_id, seq, programme_id, run, result, http_status, detail, started_at_ms, took_ms,
			look_up_ms, connect_ms, tls_ms, answer_ms, endpoint_id, nonce, signature, answer)
			select r.id, r.seq, r.programme_id, r.run, r.result, r.http_status, r.detail, r.started_at_ms, r.took_ms,
				r.look_up_ms, r.connect_ms, r.tls_ms, r.answer_ms, r.endpoint_id, r.nonce, r.signature, r.answer
			from result r join kept using (id)
	)
	select id from kept`);

const RELEASE = hotStatement<{ id: number }>(`
	update queue q set due_at_ms = r.due_at_ms
		from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as r(id, old_due_at_ms, due_at_ms)
		where q.id = r.id and q.due_at_ms = r.old_due_at_ms returning q.id`);

const CANCEL = hotStatement<{ id: number }>(`
	with result as (
		select * from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as r(id, old_due_at_ms, ended_at_ms)
	), taken as (
		delete from queue q using result r
			where q.id = r.id and q.due_at_ms = r.old_due_at_ms returning q.id
	)
	update deliveries d set state = 'cancelled', finished_at_ms = r.ended_at_ms
		from result r join taken using (id) where d.id = r.id returning d.id`);

export async function settleOnPostgres(trx: Db, settlements: readonly Settlement[]): Promise<Set<number>> {
	const attempted = settlements.filter((s): s is Attempted => s.kind === "finished" || s.kind === "retry");
	const released = settlements.filter((s): s is Released => s.kind === "released");
	const cancelled = settlements.filter((s): s is Cancelled => s.kind === "cancelled");
	const settled = new Set<number>();
	const keep = (rows: readonly { id: number }[]): void => {
		for (const { id } of rows) settled.add(id);
	};
	if (attempted.length > 0) keep(await SETTLE_ATTEMPTED.run(trx, attemptColumns(attempted)));
	if (released.length > 0) {
		const dues = columnLiteral(released, newDueAtMs);
		keep(await RELEASE.run(trx, [...inHand(released), dues]));
	}
	if (cancelled.length > 0) {
		const ends = columnLiteral(cancelled, (s) => s.endedAtMs);
		keep(await CANCEL.run(trx, [...inHand(cancelled), ends]));
	}
	return settled;
}

function inHand(settlements: readonly Settlement[]): [ids: string, dues: string] {
	return [
		columnLiteral(settlements, (s) => s.delivery.id),
		columnLiteral(settlements, (s) => s.delivery.dueAtMs),
	];
}

function attemptColumns(attempted: readonly Attempted[]): string[] {
	const column = (read: (settlement: Attempted) => number | string | null): string =>
		columnLiteral(attempted, read);
	return [
		...inHand(attempted),
		column((s) => s.delivery.seq + 1),
		column((s) => s.delivery.run),
		column((s) => s.delivery.counted + 1),
		column((s) => (s.kind === "finished" ? s.state : "pending")),
		column((s) => (s.kind === "retry" ? newDueAtMs(s) : null)),
		column((s) => (s.kind === "finished" ? s.endedAtMs : null)),
		column((s) => s.verdict),
		column((s) => s.attempt.result),
		column((s) => s.attempt.httpStatus),
		column((s) => s.attempt.detail),
		column((s) => s.attempt.startedAtMs),
		column((s) => s.attempt.tookMs),
		column((s) => s.attempt.lookUpMs),
		column((s) => s.attempt.connectMs),
		column((s) => s.attempt.tlsMs),
		column((s) => s.attempt.answerMs),
		column((s) => s.attempt.endpointId),
		column((s) => s.attempt.nonce),
		column((s) => s.attempt.signature),
		column((s) => s.delivery.programmeId),
		column((s) => s.attempt.answer),
	];
}
