# SPDX-License-Identifier: MIT
#
# From the runs of bench/run to numbers, and from numbers to tables and files.

package Report;

use strict;
use warnings;
use JSON::PP;

my $json = JSON::PP->new->canonical->pretty->indent_length(1);

sub decode {
	my ($text) = @_;
	return $json->decode($text);
}

sub load {
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!\n";
	local $/;
	return decode(<$file>);
}

# ---------------------------------------------------------------------------
# Numbers

sub median {
	my @sorted = sort { $a <=> $b } @_;
	return undef unless @sorted;
	my $half = int(@sorted / 2);
	return @sorted % 2 ? $sorted[$half]
			   : ($sorted[$half - 1] + $sorted[$half]) / 2;
}

sub digits {
	my ($value, $digits) = @_;
	return defined $value ? 0 + sprintf("%.${digits}f", $value) : undef;
}

sub runs {
	my ($row, @kinds) = @_;
	return grep { my $kind = $_->{kind}; grep { $_ eq $kind } @kinds }
		@{$row->{runs}};
}

# per_io COUNT RUNS: median of a count that includes the I/Os of warming up
sub per_io {
	my ($what, @runs) = @_;
	return median(map { $_->{$what} / ($_->{json}{ios} * 1.2) }
		      grep { $_->{$what} ne '-' } @runs);
}

sub numbers {
	my ($row) = @_;
	my @process = runs($row, 'process');
	my @submit = runs($row, 'submit');
	my @cost = sort { $a <=> $b }
		map { $_->{json}{job_cpu_ns_per_io} } @process;
	my %n = (
		process => digits(median(@cost), 0),
		process_least => digits($cost[0], 0),
		process_most => digits($cost[-1], 0),
		submit => digits(median(map { $_->{json}{submit_ns_per_io} }
					@submit), 0),
		ios_per_enter => digits(median(map { $_->{json}{ios_per_enter} }
					       @process), 2),
		kicks_per_io => digits(per_io('kicks', @process) //
				       per_io('kicks', runs($row, 'kick')), 3),
		interrupts_per_io => digits(per_io('irqs', @process), 3),
	);
	# With one I/O in a call, the least is a call which no interrupt met.
	$n{submit_alone} = digits(median(map {
			$_->{json}{submit_ns_min} - $_->{json}{clock_ns}
		} @submit), 0) if $row->{batch} == 1;
	return %n;
}

sub count_row {
	my ($row) = @_;
	my %copy = (%$row, numbers($row));
	delete $copy{runs};
	return \%copy;
}

# iops_row CPUS, OP, ROUNDS: each round has the IOPS of both nodes
sub iops_row {
	my ($cpus, $op, $rounds) = @_;
	my @ratio = sort { $a <=> $b } map { $_->{char} / $_->{block} } @$rounds;
	return {
		name => "$op $cpus CPUs", cpus => $cpus, op => $op,
		ratio => digits(median(@ratio), 2),
		ratio_least => digits($ratio[0], 2),
		ratio_most => digits($ratio[-1], 2),
		block => digits(median(map { $_->{block} } @$rounds), 0),
		char => digits(median(map { $_->{char} } @$rounds), 0),
	};
}

# ---------------------------------------------------------------------------
# Goals: what a row has to reach, by itself or relative to another.

my @goals = (
	['char64 read 4k d1 b1 registered interrupt', 'submit_alone', 1500],
	['char64 read 4k d1 b1 plain interrupt', 'submit_alone', 2200],
	['char64 read 4k d32 b8 registered interrupt', 'process', 1700],
	['char64 read 4k d32 b8 plain interrupt', 'process', 2400],
	['char64 read 4k d32 b32 registered interrupt', 'process', 1300],
	['char64 read 4k d32 b8 registered polled', 'process', 1500],
);

# Pairs of targets: the first's numbers are at most so much of the second's.
my @ratios = (
	['char64', 'in-tree', qr/ (64|512)k .* registered/, 'process', 0.35],
	['char64', 'block', qr/ (64|512)k .* registered/, 'process', 0.35],
	['block', 'in-tree', qr/ b1 /, 'submit_alone', 1.00],
	['block', 'in-tree', qr/ d32 /, 'process', 1.00],
);

sub goal_lines {
	my ($result) = @_;
	my %row = map { $_->{name} => $_ } @{$result->{rows} // []};
	my @lines;
	for my $goal (@goals) {
		my ($name, $what, $limit) = @$goal;
		my $value = $row{$name} && $row{$name}{$what};
		push @lines, [$name, $what, $value, $limit] if defined $value;
	}
	for my $ratio (@ratios) {
		push @lines, ratio_lines(\%row, @$ratio);
	}
	return @lines;
}

sub ratio_lines {
	my ($row, $first, $second, $which, $what, $limit) = @_;
	my @lines;
	for my $name (sort keys %$row) {
		next unless $name =~ /^\Q$first\E / && $name =~ $which;
		(my $other = $name) =~ s/^\S+/$second/;
		my ($a, $b) = map { $row->{$_} && $row->{$_}{$what} }
			$name, $other;
		next unless $a && $b;
		push @lines, ["$name / $second", $what, $a / $b, $limit];
	}
	return @lines;
}

# ---------------------------------------------------------------------------
# Output

my @columns = (
	# title, key, digits
	['submit', 'submit', 0],
	['alone', 'submit_alone', 0],
	['process', 'process', 0],
	['least', 'process_least', 0],
	['most', 'process_most', 0],
	['I/Os/enter', 'ios_per_enter', 2],
	['kicks', 'kicks_per_io', 3],
	['interrupts', 'interrupts_per_io', 3],
);

sub cell {
	my ($value, $digits) = @_;
	return '' unless defined $value;
	my $text = sprintf "%.${digits}f", $value;
	1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
	return $text;
}

sub table {
	my ($result) = @_;
	my $about = $result->{about};
	my $text = "kernel $about->{kernel}, QEMU $about->{qemu}, null-co; " .
		"load of the host $about->{load_before} before, " .
		"$about->{load_after} after\n";
	return $text . count_table($result->{rows} // []) .
		iops_table($result->{iops} // []) . goal_table($result);
}

# A blank line where the rows are about something else than another target.
sub count_table {
	my ($rows) = @_;
	return '' unless @$rows;
	my ($width) = sort { $b <=> $a } map { length $_->{name} } @$rows;
	my $format = "%-${width}s" . ' %10s' x @columns . "\n";
	my $text = "\nGuest instructions per I/O (-icount shift=0)\n" .
		sprintf $format, 'row', map { $_->[0] } @columns;
	my $last = '';
	for my $row (@$rows) {
		my ($work) = $row->{name} =~ /^\S+ (.*)/;
		my $gap = $row->{target} ne 'nop' && $work ne $last ? "\n" : '';
		$last = $work;
		$text .= $gap . sprintf $format, $row->{name},
			map { cell($row->{$_->[1]}, $_->[2]) } @columns;
	}
	return $text;
}

sub iops_table {
	my ($rows) = @_;
	return '' unless @$rows;
	my $format = "%-20s %10s %10s %10s %10s %10s\n";
	my $text = "\nIOPS of the character node over the block node, 4 KiB, " .
		"depth 128, a job per CPU\n" .
		sprintf $format, 'row', qw(ratio least most block char);
	for my $row (@$rows) {
		$text .= sprintf $format, $row->{name},
			(map { cell($row->{$_}, 2) }
				qw(ratio ratio_least ratio_most)),
			map { cell($row->{$_}, 0) } qw(block char);
	}
	return $text;
}

sub goal_table {
	my ($result) = @_;
	my $text = '';
	for (goal_lines($result)) {
		my ($name, $what, $value, $limit) = @$_;
		my $digits = $limit < 10 ? 2 : 0;
		$text .= sprintf "%-70s %-12s %8s of %8s  %s\n", $name, $what,
			cell($value, $digits), cell($limit, $digits),
			$value <= $limit ? 'reached' : 'NOT reached';
	}
	return $text && "\nGoals\n$text";
}

my @csv = qw(name target op size depth batch buffers mode pages scheduler
	     submit submit_alone process process_least process_most
	     ios_per_enter kicks_per_io interrupts_per_io);
my @iops_csv = qw(name op cpus ratio ratio_least ratio_most block char);

sub csv {
	my ($rows, @columns) = @_;
	my $text = join(',', @columns) . "\n";
	for my $row (@$rows) {
		$text .= join(',', map { $row->{$_} // '' } @columns) . "\n";
	}
	return $text;
}

sub write_file {
	my ($path, $text) = @_;
	open my $file, '>', $path or die "$path: $!\n";
	print $file $text;
	close $file or die "$path: $!\n";
}

# NAME.json, .csv and .txt; last.json points at what was written last.
sub write_all {
	my ($result, $dir, $name) = @_;
	my $text = table($result);
	write_file("$dir/$name.json", $json->encode($result));
	write_file("$dir/$name.txt", $text);
	write_file("$dir/$name.csv", csv($result->{rows}, @csv))
		if $result->{rows};
	write_file("$dir/$name-iops.csv", csv($result->{iops}, @iops_csv))
		if $result->{iops};
	unlink "$dir/last.json";
	symlink "$name.json", "$dir/last.json" or die "last.json: $!\n";
	print $text;
	plot($result, $dir, $name);
}

# ---------------------------------------------------------------------------
# The picture: clusters of bars, one for each target. A cluster is a row's name
# without its target, the number shown, and how the cluster is called.

my @bars = (
	['read 4k d1 b1 registered interrupt', 'submit_alone',
	 'submit\ndepth 1\nregistered'],
	['read 4k d1 b1 plain interrupt', 'submit_alone',
	 'submit\ndepth 1\nplain'],
	['read 4k d32 b8 registered interrupt', 'process',
	 'process\n32, by 8\nregistered'],
	['read 4k d32 b8 plain interrupt', 'process',
	 'process\n32, by 8\nplain'],
	['read 4k d32 b32 registered interrupt', 'process',
	 'process\n32, by 32\nregistered'],
	['read 4k d32 b8 registered polled', 'process',
	 'process\n32, by 8\npolled'],
);
# Targets, their titles and colours.
my @bar_targets = (
	['in-tree', 'in-tree block', '#9aa5b1'],
	['block', 'our block', '#5b8bb5'],
	['char64', 'our character node', '#d9772b'],
	['nvme', 'NVMe passthrough', '#7a9e5f'],
	['nop', 'io_uring NOP', '#cfcfcf'],
);

# The table for gnuplot and the colours of its columns, without what was not
# measured.
sub bar_data {
	my ($result) = @_;
	my %row = map { $_->{name} => $_ } @{$result->{rows} // []};
	my $value = sub {
		my ($target, $bar) = @_;
		my $row = $row{"$target->[0] $bar->[0]"};
		return $row && $row->{$bar->[1]};
	};
	my @targets = grep {
		my $target = $_;
		grep { defined $value->($target, $_) } @bars;
	} @bar_targets;
	my $text = join("\t", 'row', map { $_->[1] } @targets) . "\n";
	for my $bar (@bars) {
		my @values = map { $value->($_, $bar) } @targets;
		next unless grep { defined } @values;
		$text .= join("\t", "\"$bar->[2]\"", map { $_ // '?' } @values) .
			"\n";
	}
	return ($text, join ' ', map { $_->[2] } @targets);
}

sub plot {
	my ($result, $dir, $name) = @_;
	my ($bars, $colours) = bar_data($result);
	return unless $colours;
	write_file("$dir/$name-plot.tsv", $bars);
	(my $script = __FILE__) =~ s/Report\.pm$/plot.gp/;
	for my $type (qw(svg png)) {
		my $set = "type='$type'; data='$dir/$name-plot.tsv'; " .
			"picture='$dir/$name.$type'; colours='$colours'";
		system('gnuplot', '-e', $set, $script) == 0
			or die "gnuplot failed (Debian: gnuplot-nox)\n";
	}
	$dir =~ s{^.*/\.\./}{};
	print "\nPictures: $dir/$name.svg, $dir/$name.png\n";
}

1;
