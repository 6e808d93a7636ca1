# SPDX-License-Identifier: MIT
#
# QEMU's monitor, by its QMP socket.

package Monitor;

use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;
use POSIX ();

sub connect_to {
	my ($path) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $path)
		or die "QEMU's monitor: $!\n";
	$socket->autoflush(1);
	qmp($socket, 'qmp_capabilities');
	return $socket;
}

sub qmp {
	my ($socket, $name, %arguments) = @_;
	print $socket encode_json({ execute => $name, arguments => \%arguments }),
		"\n";
	while (my $line = <$socket>) {
		my $answer = decode_json($line);
		die "QEMU: $answer->{error}{desc}\n" if $answer->{error};
		next unless exists $answer->{return};
		# Commands of a person's monitor only say what went wrong.
		my $text = $answer->{return};
		die "QEMU: $text" if !ref $text && $text =~ /\S/;
		return;
	}
	die "QEMU is gone\n";
}

# human SOCKET, LINE: a command of the monitor that people use
sub human {
	my ($socket, $line) = @_;
	qmp($socket, 'human-monitor-command', 'command-line' => $line);
}

# From now on QEMU translates and runs one instruction at a time, which makes the
# guest slower than its devices.
sub slow_down {
	my ($socket) = @_;
	human($socket, 'singlestep on');
}

# A child that asks for QEMU's state each second, until it is gone. When all CPUs of
# a guest sleep, QEMU 7.2 now and then forgets to set the timer that would wake them
# (with -icount only); an event in its main loop makes it think again.
sub keep_awake {
	my ($socket) = @_;
	my $pid = fork // die "fork: $!\n";
	return $pid if $pid;
	eval {
		while (1) {
			sleep 1;
			qmp($socket, 'query-status');
		}
	};
	POSIX::_exit(0);
}

1;
