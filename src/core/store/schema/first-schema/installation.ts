// Network that runs Ringback, and the processes of this installation.

import type { Dialect } from "../dialect.ts";

/**
 * Number of slots. It equals SLOTS in domain/slot.ts, but is repeated here because a released schema must not follow a
 * later change of that constant.
 */
const SLOTS = 64;

export function installationTables({ assignedId, clustered, updatedOften }: Dialect): readonly string[] {
	const slots = Array.from({ length: SLOTS }, (_, slot) => `(${slot})`);
	return [
		// This table has one row with the network's name, brand, look and mail sender.
		`create table network (
			one ${assignedId},
			name text,
			brand text,
			brand_is_fixed smallint not null default 0,
			sample_programme text,
			colour text,
			support_address text,
			time_zone text not null default 'UTC',
			postal_address text,
			minimum_payouts text not null default '',
			sender_name text,
			sender_address text,
			logo_type text,
			logo_hash text,
			logo_width integer,
			logo_height integer,
			logo_data text,
			mail_tested_at_ms bigint,
			set_up_ended_at_ms bigint,
			backed_up_at_ms bigint,
			staff_told_at_ms bigint,
			sales_read_at bigint,
			sales_read_id bigint
		)`,
		"insert into network (one) values (1)",

		// Each row is a process of the service that is running, or that ended without a clean stop.
		`create table processes (
			instance text primary key,
			host text not null,
			role text not null,
			version text not null,
			started_at_ms bigint not null,
			seen_at_ms bigint not null,
			in_hand integer,
			programmes_due integer,
			oldest_due_at_ms bigint,
			most_in_flight integer,
			mail_failed_at_ms bigint,
			mail_error text
		) ${clustered} ${updatedOften}`,

		// Each row is a chore with its last success and its failures since then.
		`create table chores (
			name text primary key,
			since_ms bigint not null,
			last_success_ms bigint,
			working_at_ms bigint,
			last_failure_ms bigint,
			failures integer not null,
			error text
		) ${clustered} ${updatedOften}`,

		// Each row is a callback engine that is running.
		`create table engines (
			id ${assignedId},
			renewed_at_ms bigint not null,
			most_in_flight integer
		) ${updatedOften}`,

		// Each row is a slot, with the engine that owns it.
		`create table slots (
			slot ${assignedId},
			engine_id bigint
		)`,
		`insert into slots (slot) values ${slots.join(", ")}`,

		// This table has one row while all callbacks are held, and is empty otherwise.
		`create table delivery_pause (
			one integer primary key,
			since_ms bigint not null,
			held_by bigint
		)`,
	];
}
