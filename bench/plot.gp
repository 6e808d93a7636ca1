# SPDX-License-Identifier: MIT
#
# The picture of bench/run: what an I/O costs by each path. The data has a column
# for each path, titles in its first line; colours are in the same order.
#
# usage: gnuplot -e "type='svg'; data='...'; picture='...'; colours='...'" plot.gp

if (type eq 'svg') {
	set terminal svg size 960,480 font 'sans-serif,13' background '#ffffff'
} else {
	set terminal png size 960,480 font 'DejaVuSans,11' background '#ffffff'
}
set output picture

set title "Guest instructions per 4 KiB random read\n\
(submit: one call of io_uring_submit; process: all CPU time of the process)" \
	noenhanced
set datafile separator tab
set datafile missing '?'
set style data histogram
set style histogram clustered gap 1
set style fill solid
set boxwidth 0.9
set key at screen 0.5,0.07 center horizontal noenhanced maxrows 1 samplen 1
set tmargin 4
set bmargin 7
set grid ytics linecolor rgb '#dddddd'
set border 3 linecolor rgb '#555555'
set tics nomirror
set xtics scale 0
set yrange [0:*]
set format y "%.0f"

paths = words(colours)
plot for [i = 1:paths] data using i + 1:xtic(1) title columnheader(i + 1) \
	linecolor rgb word(colours, i)
